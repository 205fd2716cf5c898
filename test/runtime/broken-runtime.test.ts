import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { askEngine } from '../../src/host/docker/engine.ts';
import { lookAtRunsc } from '../../src/host/probes/runsc.ts';
import { gvisorProfile } from '../../src/providers/gvisor/container-profile.ts';
import { soon } from '../conformance/sandbox.ts';
import { Installation } from '../providers/gvisor/support/installation.ts';
import { ScenarioServer, resourcesOf } from '../scenarios/support.ts';
import { startPrivateEngine } from '../support/engine.ts';
import type { PrivateEngine } from '../support/engine.ts';
import { testHost } from '../support/host.ts';
import { engineContents, processesNaming } from './support/leftovers.ts';

describe('a runtime that is registered and does not work', () => {
  let directory: string;
  let engine: PrivateEngine;
  let before: Record<string, readonly string[]>;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'emergent-runtimes-'));
    const script = async (name: string, text: string): Promise<string> => {
      const path = join(directory, name);
      await writeFile(path, `#!/bin/sh\n${text}\n`);
      await chmod(path, 0o755);
      return path;
    };
    const paths = {
      runsc: await script('exits', 'echo "this kernel is not supported" >&2; exit 1'),
      hangs: await script('hangs', `while :; do sleep 1000; done # ${directory}`),
      gone: join(directory, 'nowhere'),
    };
    const { image } = await testHost();
    engine = await startPrivateEngine({
      images: [image],
      runtimes: Object.fromEntries(
        Object.entries(paths).map(([name, path]) => [name, { path, runtimeArgs: [] }]),
      ),
    });
    before = await engineContents(engine.docker);
  });
  afterAll(async () => {
    await engine[Symbol.asyncDispose]();
    await rm(directory, { recursive: true });
  });

  async function under(runtime: string): Promise<Installation> {
    const dockerHost = `unix://${engine.socket}`;
    return Installation.make(systemClock, { dockerHost, profile: gvisorProfile(runtime) });
  }

  test.each([
    ['runsc', /"runsc" starts no container: .*/],
    ['gone', /"gone" starts no container: .*(no such file|runtime path|not found)/],
  ])('%s: its own words are the reason, and nothing of the trial is left', async (name, why) => {
    await using installation = await under(name);
    const health = await installation.provider.health(soon());
    expect(health).toMatchObject({
      state: 'unhealthy',
      remedy: expect.stringContaining('emergent doctor') as unknown,
      details: { runtime: name },
    });
    if (health.state === 'healthy') return;
    expect(health.reason).toMatch(/^gVisor runtime not available: /);
    expect(health.reason).toMatch(why);
    expect(await engineContents(engine.docker)).toEqual(before);
  });

  test('one that hangs is said to be slow, then to be broken; its processes go with the trial', async () => {
    await using installation = await under('hangs');
    const first = await installation.provider.health(soon());
    expect(first).toMatchObject({
      state: 'unhealthy',
      reason: expect.stringMatching(
        /^gVisor runtime not available: .* has not started within/,
      ) as unknown,
    });
    await expect
      .poll(() => installation.provider.health(soon()), { timeout: 50_000, interval: 100 })
      .toMatchObject({
        reason: expect.stringMatching(/"hangs" starts no container: .* not finish/) as unknown,
      });
    expect(await engineContents(engine.docker)).toEqual(before);
    expect(await processesNaming(join(directory, 'hangs'))).toEqual([]);
  }, 120_000);

  test('the server and the doctor say so, and a create leaves nothing', async () => {
    const host = await testHost();
    const runtime = { ...host.runtime, name: 'runsc' } as typeof host.runtime;
    await using server = await ScenarioServer.start(
      { DOCKER_HOST: `unix://${engine.socket}` },
      engine.docker,
      systemClock,
      { host: { runtime } },
    );
    for (const provider of ['gvisor', 'auto']) {
      const { status, body } = await server.call('POST', '', { provider, network: 'isolated' });
      expect([status, body.error.code]).toEqual([503, 'provider_unavailable']);
      expect(body.error.message).toContain('gVisor runtime not available: "runsc" starts no');
    }
    const { providers } = (await server.call('GET', '/providers')).body;
    expect(providers.slice(0, 2)).toMatchObject([
      {
        name: 'gvisor',
        status: 'unhealthy',
        remedy: expect.stringContaining('emergent doctor') as unknown,
      },
      {
        name: 'docker',
        status: 'absent',
        reason: expect.stringContaining('allowed only by') as unknown,
      },
    ]);
    expect((await server.call('GET', '')).body.items).toEqual([]);
    expect(await resourcesOf(engine.docker, '')).toEqual([]);
    const finding = await lookAtRunsc(
      await askEngine({ kind: 'unix', socketPath: engine.socket }),
      soon(),
    );
    expect(finding).toMatchObject({
      state: 'broken',
      reason: expect.stringContaining('registered, but starts no container') as unknown,
    });
    expect(await engineContents(engine.docker)).toEqual(before);
  });
});
