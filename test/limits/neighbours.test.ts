import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ScenarioServer } from '../scenarios/support.ts';

const GiB = 2 ** 30;

/** What one workspace does to its disk is its own affair. */
describe('a workspace that writes 100 GB', () => {
  let server: ScenarioServer;
  beforeAll(async () => {
    server = await ScenarioServer.start();
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  test('is stopped by its own limit, while another one and the server answer', async () => {
    const create = () =>
      server.create({
        resource_limits: { cpu: 1, memory: '512M', disk: '1G' },
        network: 'isolated',
      });
    const [id, other] = await Promise.all([create(), create()]);
    const flood = { over: false };
    const ended = server
      .bash(id, 'echo kept > kept; dd if=/dev/zero of=flood bs=1M count=100000; stat -c %s flood')
      .finally(() => {
        flood.over = true;
      });
    let answers = 0;
    do {
      const written = await server.bash(other, 'head -c 1M /dev/zero > own && wc -c < own');
      expect(written.body).toMatchObject({ exit_code: 0, stdout: '1048576\n' });
      expect((await server.call('GET', `/${id}`)).body.status).toBe('ready');
      answers += 1;
    } while (!flood.over);
    expect(answers).toBeGreaterThan(1);

    const { body } = await ended;
    expect(body).toHaveProperty('stderr', expect.stringContaining('No space left on device'));
    expect(Number(body.stdout)).toBeGreaterThan(GiB / 2);
    expect(Number(body.stdout)).toBeLessThan(GiB);
    const after = await server.bash(id, 'cat kept; rm flood && echo again > kept && cat kept');
    expect(after.body).toMatchObject({ exit_code: 0, stdout: 'kept\nagain\n' });
  }, 180_000);
});
