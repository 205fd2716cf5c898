import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventsOf } from '../api/support/sse.ts';
import { ScenarioServer } from '../scenarios/support.ts';
import { FakeClock } from '../support/clock.ts';

/** Doubles until nothing more can be started, and then goes on trying. */
const bomb = 'b() { b | b & }; b; sleep 100000';
const refusal = 'Resource temporarily unavailable';
const timeout_ms = 60_000;

describe('processes of a gVisor workspace', () => {
  const clock = new FakeClock(new Date());
  let server: ScenarioServer;
  beforeAll(async () => {
    server = await ScenarioServer.start({}, undefined, clock);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  /** The result of the bomb; `onFull` hears when nothing more can be started. */
  const bombed = async (
    id: string,
    timeout_ms: number,
    onFull: () => void,
  ): Promise<Readonly<Record<string, unknown>>> => {
    const response = await fetch(`${server.url}/api/v1/agent/workspaces/${id}/bash`, {
      method: 'POST',
      headers: {
        accept: 'text/event-stream',
        authorization: `Bearer ${server.token}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ command: bomb, timeout_ms }),
    });
    for await (const { event, data } of eventsOf(response)) {
      if (event === 'stderr' && String(data['text']).includes(refusal)) onFull();
      if (event === 'result') return data;
    }
    throw new Error('the stream ended without a result');
  };

  const create = (memory: string) =>
    server.create({ resource_limits: { cpu: 0.5, memory }, network: 'isolated' });

  test('a fork bomb ends at its time limit and hurts nobody else', async () => {
    const [id, other] = await Promise.all([create('512M'), create('512M')]);
    const { State: before } = await server.docker.getContainer(`emergent-${id}`).inspect();
    const othersAnswer = async (): Promise<void> => {
      expect((await server.bash(other, 'echo alive')).body.stdout).toBe('alive\n');
      expect((await server.call('GET', `/${id}`)).body.status).toBe('ready');
    };
    const bombing = { full: false, over: false };
    const onFull = (): void => {
      bombing.full = true;
    };
    const ended = bombed(id, timeout_ms, onFull).finally(() => {
      bombing.over = true;
    });
    while (!bombing.full && !bombing.over) await othersAnswer();
    await othersAnswer();
    expect(bombing).toEqual({ full: true, over: false });
    await clock.advance(timeout_ms);
    const result = await ended;
    expect(result['timed_out']).toBe(true);
    expect(result['exit_code']).not.toBe(0);
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
