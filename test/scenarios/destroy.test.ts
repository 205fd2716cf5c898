import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FakeClock } from '../support/clock.ts';
import { verifies } from '../support/verifies.ts';
import { ScenarioServer, resourcesOf } from './support.ts';

describe('destroying a workspace on gVisor', () => {
  let server: ScenarioServer;
  beforeAll(async () => {
    // On a clock that stands still, so that nobody mends what a test breaks before the test has looked at it.
    server = await ScenarioServer.start({}, undefined, new FakeClock(new Date()));
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  verifies(
    ['lifecycle/successful-workspace-destruction', 'gvisor/volume-cleanup-on-workspace-destroy'],
    'leaves no container, no volume and no row, and confirms it',
    async () => {
      const id = await server.create();
      await server.bash(id, 'head -c 1000000 /dev/urandom > data');
      expect(await server.call('DELETE', `/${id}`)).toEqual({
        status: 200,
        body: { id, status: 'destroyed' },
      });
      expect(await resourcesOf(server.docker, id)).toEqual([]);
      expect((await server.call('GET', `/${id}`)).status).toBe(404);
      expect((await server.bash(id, 'true')).status).toBe(404);
    },
  );

  verifies(
    ['lifecycle/destroy-non-existent-workspace'],
    'answers 404 with a clear message where there is nothing',
    async () => {
      const id = randomUUID();
      const { status, body } = await server.call('DELETE', `/${id}`);
      expect(status).toBe(404);
      expect(body.error).toMatchObject({
        code: 'workspace_not_found',
        message: `there is no workspace ${id}`,
        hint: expect.stringContaining('emergent list') as unknown,
      });
    },
  );

  test('two at once both succeed', async () => {
    const id = await server.create();
    const answers = await Promise.all([1, 2].map(() => server.call('DELETE', `/${id}`)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(await resourcesOf(server.docker, id)).toEqual([]);
  });

  test('also when the container was removed behind the back of the server', async () => {
    const id = await server.create();
    await server.docker.getContainer(`emergent-${id}`).remove({ force: true });
    const { status, body } = await server.bash(id, 'true');
    expect([status, body.error.code]).toEqual([503, 'sandbox_unreachable']);
    expect((await server.call('DELETE', `/${id}`)).status).toBe(200);
    expect(await resourcesOf(server.docker, id)).toEqual([]);
  });
});
