import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { askEngine } from '../../src/host/docker/engine.ts';
import { lookAtRunsc } from '../../src/host/probes/runsc.ts';
import { cli } from '../cli/support/cli.ts';
import { soon } from '../conformance/sandbox.ts';
import { ScenarioServer, resourcesOf } from '../scenarios/support.ts';
import { startPrivateEngine } from '../support/engine.ts';
import type { PrivateEngine } from '../support/engine.ts';
import { testHost } from '../support/host.ts';
import { recordLog } from '../support/log.ts';
import type { RecordedLog } from '../support/log.ts';
import { verifies } from '../support/verifies.ts';
import { engineContents } from './support/leftovers.ts';

const notRegistered = 'gVisor runtime not available: "runsc" is not registered';
/** What every answer of this server says of the others. */
const unconfigured = ['firecracker', 'e2b'].map((name) => ({
  name,
  reason: `this version of the server brings no provider "${name}"`,
}));

describe('an engine that knows no runsc', () => {
  let engine: PrivateEngine;
  let server: ScenarioServer;
  let recorded: RecordedLog;
  beforeAll(async () => {
    const { image } = await testHost();
    engine = await startPrivateEngine({ images: [image], runtimes: {} });
  });
  afterAll(async () => {
    await engine[Symbol.asyncDispose]();
  });

  async function start(settings: Readonly<Record<string, string>>): Promise<ScenarioServer> {
    recorded = recordLog();
    return ScenarioServer.start(
      { DOCKER_HOST: `unix://${engine.socket}`, ...settings },
      engine.docker,
      systemClock,
      { log: recorded.log },
    );
  }

  describe('where only sandboxes are allowed', () => {
    beforeAll(async () => {
      server = await start({});
    });
    afterAll(async () => {
      await server[Symbol.asyncDispose]();
    });

    verifies(
      ['gvisor/gvisor-runtime-not-installed'],
      'a create says that gVisor is not available, and leaves nothing',
      async () => {
        const before = await engineContents(engine.docker);
        const named = await server.call('POST', '', { provider: 'gvisor', network: 'isolated' });
        expect([named.status, named.body.error.code]).toEqual([503, 'provider_unavailable']);
        expect(named.body.error.message).toContain(notRegistered);
        expect(named.body.error.hint).toContain('set-up installs and registers runsc');

        const auto = await server.call('POST', '', { network: 'isolated' });
        expect(auto.status).toBe(503);
        expect(auto.body.error.details['providers']).toEqual([
          { name: 'gvisor', reason: expect.stringContaining(notRegistered) as unknown },
          {
            name: 'docker',
            reason: expect.stringContaining('WORKSPACE_ALLOW_UNSANDBOXED=true') as unknown,
          },
          ...unconfigured,
        ]);
        expect((await server.call('GET', '')).body.items).toEqual([]);
        expect(await engineContents(engine.docker)).toEqual(before);
      },
    );

    test('plain containers are listed as absent, and not to be had by name either', async () => {
      const { providers } = (await server.call('GET', '/providers')).body;
      expect(providers).toMatchObject([
        { name: 'gvisor', status: 'unhealthy' },
        { name: 'docker', status: 'absent', capabilities: { isolation: 'container' } },
        { name: 'firecracker', status: 'absent' },
        { name: 'e2b', status: 'absent' },
      ]);
      const { status, body } = await server.call('POST', '', { provider: 'docker' });
      expect([status, body.error.code]).toEqual([503, 'provider_unavailable']);
      expect(body.error.message).toContain('WORKSPACE_ALLOW_UNSANDBOXED=true');
    });

    test('the doctor tells a missing runtime from a broken one', async () => {
      const found = await askEngine({ kind: 'unix', socketPath: engine.socket });
      expect(await lookAtRunsc(found, soon())).toMatchObject({ state: 'missing' });
    });
  });

  describe('where plain containers are allowed', () => {
    beforeAll(async () => {
      server = await start({ WORKSPACE_ALLOW_UNSANDBOXED: 'true' });
    });
    afterAll(async () => {
      await server[Symbol.asyncDispose]();
    });

    verifies(
      ['gvisor/fallback-to-standard-docker-runtime', 'gvisor/gvisor-runtime-not-installed'],
      'one is the last resort of an automatic choice, with a security warning',
      async () => {
        const { status, body } = await server.call('POST', '', { network: 'isolated' });
        expect([status, body.provider]).toEqual([201, 'docker']);
        expect(body.metadata).toMatchObject({
          isolation: 'container',
          security_warning: expect.stringMatching(
            /isolation is reduced: .*gVisor runtime not/,
          ) as unknown,
        });
        const warnings = recorded.entries().filter(({ level }) => level === 'warn');
        expect(warnings).toContainEqual(
          expect.objectContaining({
            msg: expect.stringMatching(/^security: isolation is reduced/) as unknown,
            workspace: body.id,
            provider: 'docker',
            instead_of: [
              { name: 'gvisor', reason: expect.stringContaining(notRegistered) as unknown },
              ...unconfigured,
            ],
          }),
        );
        expect((await server.bash(body.id, 'echo here')).body.stdout).toBe('here\n');
        await server.call('DELETE', `/${body.id}`);
        expect(await resourcesOf(engine.docker, body.id)).toEqual([]);
      },
    );

    test('the command line warns of it, and lists what is missing for a sandbox', async () => {
      const env = { EMERGENT_URL: server.url, EMERGENT_TOKEN: server.token };
      const created = await cli(['create', '--network', 'isolated'], { env });
      expect(created.stderr).toMatch(/^warning: isolation is reduced: .*gVisor runtime not/m);
      expect((await cli(['destroy', created.stdout.trim()], { env })).code).toBe(0);
      const { stdout } = await cli(['providers'], { env });
      expect(stdout).toMatch(/^gvisor +unhealthy +gvisor/m);
      expect(stdout).toMatch(/^docker +healthy +container/m);
      expect(stdout).toContain(`gvisor: ${notRegistered}`);
    });

    test('never in place of a gVisor that was asked for', async () => {
      const { status, body } = await server.call('POST', '', { provider: 'gvisor' });
      expect(status).toBe(503);
      expect(body.error.message).toContain(notRegistered);
    });

    test('to be had by name, and stopped, resumed and reconciled like any other', async () => {
      const id = await server.create({ provider: 'docker', network: 'isolated' });
      await server.bash(id, 'printf kept > file');
      expect((await server.call('POST', `/${id}/stop`)).body.status).toBe('stopped');
      expect((await server.call('POST', `/${id}/resume`)).body.status).toBe('ready');
      expect((await server.bash(id, 'cat file')).body.stdout).toBe('kept');
      const gc = await server.callApi('POST', '/gc', { dry_run: true, min_age_seconds: 0 });
      expect(gc.body).toMatchObject({ actions: [], blocked: [] });
      await server.call('DELETE', `/${id}`);
    });
  });

  test('one that runs can be used and destroyed, but not resumed, where it is no longer allowed', async () => {
    const settings: Record<string, string> = { WORKSPACE_ALLOW_UNSANDBOXED: 'true' };
    await using own = await start(settings);
    const create = (): Promise<string> => own.create({ provider: 'docker', network: 'isolated' });
    const ids = await Promise.all([create(), create()]);
    await own.call('POST', `/${ids[1]}/stop`);
    await own.restart({ WORKSPACE_ALLOW_UNSANDBOXED: 'false' });
    expect((await own.bash(ids[0], 'echo still')).body.stdout).toBe('still\n');
    const { status, body } = await own.call('POST', `/${ids[1]}/resume`);
    expect([status, body.error.code]).toEqual([503, 'provider_unavailable']);
    expect(body.error.hint).toContain('WORKSPACE_ALLOW_UNSANDBOXED=true');
    await Promise.all(
      ids.map(async (id) => {
        expect((await own.call('DELETE', `/${id}`)).status).toBe(200);
        expect(await resourcesOf(engine.docker, id)).toEqual([]);
      }),
    );
  });
});
