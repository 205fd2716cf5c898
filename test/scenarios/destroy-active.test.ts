import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { verifies } from '../support/verifies.ts';
import { ScenarioServer, everyProvider, resourcesOf } from './support.ts';

const running = 'until [ -e started ]; do sleep 0.05; done';

// At once: a command that does not listen is waited for.
describe.concurrent.each(everyProvider)('destroying a workspace in use on %s', (_, settings) => {
  let server: ScenarioServer;
  beforeAll(async () => {
    server = await ScenarioServer.start(settings);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  verifies(
    ['lifecycle/destroy-running-workspace-with-active-operations'],
    'gives running commands SIGTERM and time to end, and their callers the answer',
    async () => {
      const id = await server.create();
      const polite = server.bash(
        id,
        'trap "echo saved my work; exit 7" TERM; touch started; while :; do sleep 0.05; done',
      );
      await server.bash(id, running);
      expect((await server.call('DELETE', `/${id}`)).status).toBe(200);
      const { status, body } = await polite;
      expect(status).toBe(200);
      expect(body).toMatchObject({ stdout: 'saved my work\n', exit_code: 7, signal: null });
      expect((await server.call('GET', `/${id}`)).status).toBe(404);
    },
  );

  test('a command that does not listen to SIGTERM is ended by force after ten seconds', async () => {
    const id = await server.create();
    const deaf = server.bash(id, 'trap "" TERM; touch started; while :; do sleep 0.05; done');
    await server.bash(id, running);
    expect((await server.call('DELETE', `/${id}`)).status).toBe(200);
    const { status, body } = await deaf;
    if (status === 200) expect(body).toMatchObject({ signal: 'SIGKILL', interrupted: true });
    else expect([status, body.error.code]).toEqual([409, 'interrupted']);
    expect(await resourcesOf(server.docker, id)).toEqual([]);
  });
});
