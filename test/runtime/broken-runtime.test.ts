import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { tarOf } from '../../src/base/tar.ts';
import { askEngine } from '../../src/host/docker/engine.ts';
import { followProgress } from '../../src/host/docker/progress.ts';
import { lookAtRunsc } from '../../src/host/probes/runsc.ts';
import { runOk } from '../../src/host/run.ts';
import { runtimeProber } from '../../src/host/runsc/runtime-prober.ts';
import { gvisorProfile } from '../../src/providers/gvisor/container-profile.ts';
import { ContainerHealth } from '../../src/providers/gvisor/health.ts';
import { RuntimeTrials } from '../../src/providers/gvisor/runtime-trials.ts';
import { soon } from '../conformance/sandbox.ts';
import { Installation } from '../providers/gvisor/support/installation.ts';
import { ScenarioServer, resourcesOf } from '../scenarios/support.ts';
import { startPrivateEngine } from '../support/engine.ts';
import type { PrivateEngine } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { testHost } from '../support/host.ts';
import { engineContents, processesNaming } from './support/leftovers.ts';

const noBytes = Buffer.alloc(0);

describe('a runtime that is registered and does not work', { timeout: 180_000 }, () => {
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
    const never = join(directory, 'never');
    await runOk(['mkfifo', never], { timeoutMs: 10_000 });
    const paths = {
      runsc: await script('exits', 'echo "this kernel is not supported" >&2; exit 1'),
      hangs: await script('hangs', `read _ < ${never}`),
      gone: join(directory, 'nowhere'),
    };
    engine = await startPrivateEngine({
      runtimes: Object.fromEntries(
        Object.entries(paths).map(([name, path]) => [name, { path, runtimeArgs: [] }]),
      ),
    });
    // Nothing of it is ever started.
    const [repo = '', tag = ''] = (await testHost()).image.split(':');
    const archive = Readable.from([
      await tarOf([{ name: 'empty', mode: 0o644, content: noBytes }]),
    ]);
    await followProgress(await engine.docker.importImage(archive, { repo, tag }));
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
    const profile = gvisorProfile('hangs');
    // As long as it takes to be sure that it hangs, and not as long as on a host that is only busy.
    const [startMs, patienceMs] = [2_000, 500];
    const tryRuntime = runtimeProber(`unix://${engine.socket}`, startMs);
    const clock = systemClock;
    await using runtime = new RuntimeTrials({ tryRuntime, profile, clock, patienceMs });
    const { image } = await testHost();
    const health = new ContainerHealth({ docker: engine.docker, runtime, profile, image });
    expect(await health.check(soon())).toMatchObject({
      state: 'unhealthy',
      reason: expect.stringMatching(
        /^gVisor runtime not available: .* has not started within 0.5 seconds/,
      ) as unknown,
    });
    await eventually(async () => {
      expect(await health.check(soon())).toMatchObject({
        reason: expect.stringMatching(/"hangs" starts no container: .* not finish/) as unknown,
      });
    });
    // Of the next trial, if one has been begun meanwhile, nothing is left either.
    await runtime[Symbol.asyncDispose]();
    expect(await engineContents(engine.docker)).toEqual(before);
    await eventually(async () => {
      expect(await processesNaming(join(directory, 'hangs'))).toEqual([]);
    });
  });

  test('the server and the doctor say so, and a create leaves nothing', async () => {
    const host = await testHost();
    const runtime = { ...host.runtime, name: 'runsc' } as typeof host.runtime;
    await using stack = new AsyncDisposableStack();
    const server = stack.use(
      await ScenarioServer.start(
        { DOCKER_HOST: `unix://${engine.socket}` },
        engine.docker,
        systemClock,
        { host: { runtime } },
      ),
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
    // It may be trying the runtime once more.
    await stack.disposeAsync();
    expect(await engineContents(engine.docker)).toEqual(before);
  });
});
