import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tool } from '../providers/gvisor/support/disk-state.ts';
import { FakeClock } from '../support/clock.ts';
import { verifies } from '../support/verifies.ts';
import { ScenarioServer, diskOf, everyProvider, resourcesOf } from './support.ts';

describe.each(everyProvider)('stopping and resuming on %s', (provider, settings) => {
  let server: ScenarioServer;
  beforeAll(async () => {
    server = await ScenarioServer.start(settings);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  verifies(
    ['lifecycle/stop-a-running-workspace', 'lifecycle/resume-a-stopped-workspace'],
    'keeps the filesystem as it was, ends the processes and notes the use',
    async () => {
      const id = await server.create({ env: { GREETING: 'from the environment' } });
      await server.bash(id, 'mkdir -p a/b && printf kept > a/b/file && chmod 751 a/b/file');
      const before = (await server.call('GET', `/${id}`)).body.last_used_at;

      const stopped = await server.call('POST', `/${id}/stop`);
      expect([stopped.status, stopped.body.status]).toEqual([200, 'stopped']);
      expect(Date.parse(stopped.body.last_used_at)).toBeGreaterThanOrEqual(Date.parse(before));
      const refused = await server.bash(id, 'true');
      expect([refused.status, refused.body.error.code]).toEqual([409, 'wrong_state']);
      expect(refused.body.error.message).toBe(`workspace ${id} is stopped`);
      expect((await server.call('POST', `/${id}/stop`)).body.status).toBe('stopped');

      const resumed = await server.call('POST', `/${id}/resume`);
      expect([resumed.status, resumed.body.status]).toEqual([200, 'ready']);
      const command = 'stat -c "%a %s" a/b/file; cat a/b/file; echo "; $GREETING"';
      expect((await server.bash(id, command)).body.stdout).toBe(
        '751 4\nkept; from the environment\n',
      );
      if (provider === 'gvisor') {
        expect(await resourcesOf(server.docker, id)).toHaveLength(2);
      }
    },
  );

  test('a command that runs when its workspace is stopped gets SIGTERM, and its caller is told', async () => {
    const id = await server.create();
    const running = server.bash(id, 'touch started; sleep 1000');
    await server.bash(id, 'until [ -e started ]; do sleep 0.05; done');
    expect((await server.call('POST', `/${id}/stop`)).body.status).toBe('stopped');
    const { status, body } = await running;
    expect([status, body.signal, body.interrupted]).toEqual([200, 'SIGTERM', true]);
  });

  test('two at once: one change, the same answer', async () => {
    const id = await server.create();
    const stops = await Promise.all([1, 2].map(() => server.call('POST', `/${id}/stop`)));
    expect(stops.map(({ body }) => body.status)).toEqual(['stopped', 'stopped']);
    const resumes = await Promise.all([1, 2].map(() => server.call('POST', `/${id}/resume`)));
    expect(resumes.map(({ body }) => body.status)).toEqual(['ready', 'ready']);
    const { body } = await server.callApi('GET', `/events?workspace_id=${id}`);
    const types = (body.items as unknown as { type: string }[]).map(({ type }) => type);
    expect(types.toReversed()).toEqual([
      'workspace.creating',
      'workspace.ready',
      'workspace.stopping',
      'workspace.stopped',
      'workspace.resuming',
      'workspace.ready',
    ]);
  });
});

describe('stopping and resuming on gVisor', () => {
  let server: ScenarioServer;
  beforeAll(async () => {
    // On a clock that stands still, so that nobody mends what a test breaks before the test has looked at it.
    server = await ScenarioServer.start({}, undefined, new FakeClock(new Date()));
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  test('keeps what is outside of /workspace too', async () => {
    const id = await server.create();
    await server.bash(id, 'echo installed > /usr/local/bin/tool');
    await server.call('POST', `/${id}/stop`);
    await server.call('POST', `/${id}/resume`);
    expect((await server.bash(id, 'cat /usr/local/bin/tool')).body.stdout).toBe('installed\n');
  });

  test('builds a new container on the old files, with the old environment, where it is gone', async () => {
    const id = await server.create({ env: { GREETING: 'from the environment' } });
    await server.bash(id, 'printf kept > file');
    await server.call('POST', `/${id}/stop`);
    await server.docker.getContainer(`emergent-${id}`).remove({ force: true });
    await server.restart();
    expect((await server.call('POST', `/${id}/resume`)).body.status).toBe('ready');
    const { body } = await server.bash(id, 'cat file; echo "; $GREETING"');
    expect(body.stdout).toBe('kept; from the environment\n');
  });

  test('says what is lost where the files are gone, and makes nothing', async () => {
    const id = await server.create();
    await server.call('POST', `/${id}/stop`);
    const { image, mount } = await diskOf(server.docker, id);
    await tool('umount', '--lazy', mount);
    await rm(image);
    await server.docker.getContainer(`emergent-${id}`).remove({ force: true });
    await server.docker.getVolume(`agent-workspace-${id}`).remove();
    const { status, body } = await server.call('POST', `/${id}/resume`);
    expect([status, body.error.code]).toEqual([409, 'files_lost']);
    expect(await resourcesOf(server.docker, id)).toEqual([]);
    expect((await server.call('GET', `/${id}`)).body).toMatchObject({ status: 'error' });
    expect((await server.call('DELETE', `/${id}`)).status).toBe(200);
  });
});
