import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ScenarioServer } from '../scenarios/support.ts';

/** Doubles until nothing more can be started, and then goes on trying. */
const bomb = 'b() { b | b & }; b; sleep 100000';

describe('processes of a gVisor workspace', () => {
  let server: ScenarioServer;
  beforeAll(async () => {
    server = await ScenarioServer.start();
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  const create = (memory: string) =>
    server.create({ resource_limits: { cpu: 0.5, memory }, network: 'isolated' });

  test('a fork bomb ends at its time limit and hurts nobody else', async () => {
    const [id, other] = await Promise.all([create('512M'), create('512M')]);
    const { State: before } = await server.docker.getContainer(`emergent-${id}`).inspect();
    const bombing = { over: false };
    const ended = server
      .call('POST', `/${id}/bash`, { command: bomb, timeout_ms: 10_000 })
      .finally(() => {
        bombing.over = true;
      });
    let answers = 0;
    while (!bombing.over) {
      expect((await server.bash(other, 'echo alive')).body.stdout).toBe('alive\n');
      expect((await server.call('GET', `/${id}`)).body.status).toBe('ready');
      answers += 1;
    }
    expect(answers).toBeGreaterThan(1);
    expect((await ended).body).toMatchObject({
      timed_out: true,
      stderr: expect.stringContaining('Resource temporarily unavailable') as unknown,
    });
    expect((await ended).body.exit_code).not.toBe(0);
    // All of it is gone with the answer: what is left are the agent, its bridge and the command that counts.
    const survivors = await server.bash(id, 'ls -d /proc/[0-9]* | wc -l; echo alive');
    expect(survivors.body).toMatchObject({
      exit_code: 0,
      stdout: expect.stringMatching(/^\d\nalive\n$/) as unknown,
    });
    const { State: after } = await server.docker.getContainer(`emergent-${id}`).inspect();
    expect(after.StartedAt).toBe(before.StartedAt);
  }, 180_000);
});
