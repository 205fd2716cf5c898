import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FakeClock } from '../support/clock.ts';
import { testHost } from '../support/host.ts';
import { ScenarioServer, resourcesOf } from './support.ts';

describe('recovering a workspace on gVisor', () => {
  let server: ScenarioServer;
  beforeAll(async () => {
    server = await ScenarioServer.start();
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  test('a create in the background that fails says why, and is made when the cause is gone', async () => {
    // No registry is asked for those that set-up builds.
    const [repo, tag] = ['emergent-workspace', `recover-${randomUUID().slice(0, 8)}`];
    const image = `${repo}:${tag}`;
    const { status, body } = await server.call('POST', '?wait=false', { image });
    expect([status, body.status]).toEqual([202, 'creating']);
    const { id } = body;
    await server.event(id, 'workspace.error');
    const failed = (await server.call('GET', `/${id}`)).body;
    expect(failed.status).toBe('error');
    expect(failed.status_reason).toContain(`the image "${image}" is not on the Docker engine`);
    expect(await resourcesOf(server.docker, id)).toEqual([]);
    const again = await server.call('POST', `/${id}/recover`);
    expect([again.status, again.body.error.code]).toEqual([422, 'image_not_found']);

    await server.docker.getImage((await testHost()).image).tag({ repo, tag });
    try {
      expect((await server.call('POST', `/${id}/recover`)).body.status).toBe('ready');
      expect((await server.bash(id, 'echo here')).body.stdout).toBe('here\n');
      await server.call('DELETE', `/${id}`);
    } finally {
      await server.docker.getImage(image).remove();
    }
  });

  test('a container that ended by itself is started again, and its events say why', async () => {
    const clock = new FakeClock(new Date());
    await using server = await ScenarioServer.start({}, undefined, clock);
    const id = await server.create();
    await server.bash(id, 'printf kept > file');
    // The reconciler has looked, and does so again in a minute, or when it is told that something is out of order.
    await clock.advance(0);
    await clock.whenSleepingFor(1_000);
    await clock.advance(1_000);
    await clock.whenSleepingFor(59_000);
    const container = server.docker.getContainer(`emergent-${id}`);
    await container.kill();
    await container.wait();
    const { status, body } = await server.bash(id, 'true');
    expect([status, body.error.code]).toEqual([503, 'sandbox_unreachable']);
    await clock.whenSleepingFor(0);
    await clock.advance(0);
    const { actor, detail } = await server.event(id, 'workspace.resuming');
    expect(actor).toBe('reconciler');
    expect(detail['reason']).toContain('its sandbox does not run (exited with code 137');
    await server.callApi('POST', '/gc', {});
    expect((await server.bash(id, 'cat file')).body.stdout).toBe('kept');
  });

  test('what nobody owns is removed once it is old enough, and what is unknown stays', async () => {
    const id = await server.create();
    const unknown = randomUUID();
    const { Config } = await server.docker.getContainer(`emergent-${id}`).inspect();
    const installation = Config.Labels['dev.emergent.installation'] ?? '';
    await server.call('DELETE', `/${id}`);
    for (const owner of [id, unknown]) {
      await server.docker.createVolume({
        Name: `agent-workspace-${owner}`,
        Labels: {
          'dev.emergent.installation': installation,
          'dev.emergent.workspace': owner,
          'dev.emergent.sandbox': `emergent-${owner}`,
          'dev.emergent.kind': 'agent_workspace',
        },
      });
    }
    const gc = async (body: unknown): Promise<readonly (readonly unknown[])[]> => {
      const report = (await server.callApi('POST', '/gc', body)).body as unknown as {
        actions: { workspace_id: string; kind: string; result: string | null }[];
      };
      return report.actions.map(({ workspace_id, kind, result }) => [workspace_id, kind, result]);
    };
    expect(await gc({ dry_run: true })).toEqual([]);
    const dry = await gc({ dry_run: true, min_age_seconds: 0 });
    expect(dry.toSorted()).toEqual(
      [
        [id, 'remove', null],
        [unknown, 'keep_unknown', null],
      ].toSorted(),
    );
    expect(await resourcesOf(server.docker, id)).toHaveLength(1);
    expect(await gc({ min_age_seconds: 0 })).toContainEqual([id, 'remove', 'done']);
    expect(await resourcesOf(server.docker, id)).toEqual([]);
    expect(await resourcesOf(server.docker, unknown)).toHaveLength(1);
    expect(await gc({ min_age_seconds: 0, include_unknown: true })).toEqual([
      [unknown, 'remove', 'done'],
    ]);
    expect(await resourcesOf(server.docker, unknown)).toEqual([]);
  });
});
