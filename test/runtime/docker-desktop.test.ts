import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { ProviderHealth } from '../../src/domain/provider.ts';
import { gvisorProfile, plainProfile } from '../../src/providers/gvisor/container-profile.ts';
import type { ContainerProfile } from '../../src/providers/gvisor/container-profile.ts';
import { dockerClient } from '../../src/providers/gvisor/docker.ts';
import { ContainerHealth } from '../../src/providers/gvisor/health.ts';
import { RuntimeTrials } from '../../src/providers/gvisor/runtime-trials.ts';
import type { TryRuntime } from '../../src/providers/gvisor/runtime-trials.ts';
import { soon } from '../conformance/sandbox.ts';
import { verifies } from '../support/verifies.ts';
import { recordedEngine, recordedInfo } from './support/recorded-engine.ts';
import type { RecordedInfo } from './support/recorded-engine.ts';

const gvisor = gvisorProfile('runsc');
/** From elsewhere the process of a sandbox in Desktop's virtual machine cannot be seen. */
const runsUnderGvisor: TryRuntime = async () => ({
  kernel: '4.19.0-gvisor',
  platform: null,
  network: null,
});

async function healthOn(
  info: RecordedInfo,
  { profile = gvisor, tryRuntime = runsUnderGvisor }: HealthSetting = {},
): Promise<ProviderHealth> {
  await using engine = await recordedEngine(info);
  await using runtime = new RuntimeTrials({ tryRuntime, profile, clock: systemClock });
  const docker = dockerClient(engine.host);
  return await new ContainerHealth({ docker, runtime, profile, image: 'base' }).check(soon());
}

interface HealthSetting {
  readonly profile?: ContainerProfile;
  readonly tryRuntime?: TryRuntime;
}

function withRunsc(info: RecordedInfo, runtimeArgs: readonly string[] = []): RecordedInfo {
  const runsc = { path: '/usr/local/bin/runsc', runtimeArgs };
  return { ...info, Runtimes: { ...info.Runtimes, runsc } };
}

describe('Docker Desktop', () => {
  verifies(
    ['gvisor/macos-docker-desktop'],
    'on macOS: with runsc registered gVisor works, without any KVM',
    async () => {
      const info = withRunsc(await recordedInfo('docker-desktop-macos'), ['--platform=systrap']);
      expect(await healthOn(info)).toEqual({
        state: 'healthy',
        details: expect.objectContaining({
          runtime: 'runsc',
          platform: 'systrap',
          network_stack: 'sandbox',
          kernel: '6.10.14-linuxkit',
          docker_desktop: expect.any(String) as unknown,
        }) as unknown,
      });
    },
  );

  verifies(
    ['gvisor/windows-docker-desktop'],
    'on Windows: with runsc registered gVisor works on the kernel of WSL 2, without any KVM',
    async () => {
      const info = withRunsc(await recordedInfo('docker-desktop-windows'));
      const health = await healthOn(info);
      expect(health).toMatchObject({
        state: 'healthy',
        details: { docker_desktop: 'Windows', cgroup: '1', network_stack: 'sandbox' },
      });
      // Neither seen nor told: nothing is claimed.
      expect(health.details).not.toHaveProperty('platform');
    },
  );

  test.each(['docker-desktop-macos', 'docker-desktop-windows'])(
    '%s: without runsc it is the error of the spec, with a remedy for Desktop',
    async (name) => {
      expect(await healthOn(await recordedInfo(name))).toMatchObject({
        state: 'unhealthy',
        reason: expect.stringMatching(
          /^gVisor runtime not available: "runsc" is not registered/,
        ) as unknown,
        remedy: expect.stringMatching(/Docker Desktop's .* Settings > Docker Engine/s) as unknown,
      });
    },
  );

  test('a runsc that is registered, but not in its virtual machine, is broken', async () => {
    const info = withRunsc(await recordedInfo('docker-desktop-windows'));
    const tryRuntime: TryRuntime = async () => {
      throw new Error('error while looking up the specified runtime path');
    };
    expect(await healthOn(info, { tryRuntime })).toMatchObject({
      state: 'unhealthy',
      reason:
        'gVisor runtime not available: "runsc" starts no container: ' +
        'error while looking up the specified runtime path',
      remedy: expect.stringContaining('Settings > Docker Engine') as unknown,
    });
  });

  test('a runtime by the name of runsc that is not gVisor is found out', async () => {
    const info = withRunsc(await recordedInfo('docker-desktop-macos'));
    const tryRuntime: TryRuntime = async () => ({
      ...{ kernel: info.KernelVersion, platform: null, network: null },
    });
    expect(await healthOn(info, { tryRuntime })).toMatchObject({
      state: 'unhealthy',
      reason: expect.stringContaining('"runsc" is not gVisor') as unknown,
    });
  });

  test('Windows containers are a reason of their own, for every kind of container', async () => {
    const info = await recordedInfo('docker-desktop-windows-containers');
    for (const profile of [gvisor, plainProfile(true)]) {
      expect(await healthOn(info, { profile })).toMatchObject({
        state: 'unhealthy',
        reason: expect.stringContaining('runs Windows containers') as unknown,
        remedy: expect.stringContaining('Switch to Linux containers') as unknown,
      });
    }
  });

  test('plain containers work there when they are allowed, and only then', async () => {
    const info = await recordedInfo('docker-desktop-macos');
    const tryRuntime: TryRuntime = async () => ({
      ...{ kernel: info.KernelVersion, platform: null, network: null },
    });
    const allowed = await healthOn(info, { profile: plainProfile(true), tryRuntime });
    expect(allowed).toMatchObject({ state: 'healthy', details: { runtime: 'runc' } });
    expect(await healthOn(info, { profile: plainProfile(false), tryRuntime })).toMatchObject({
      state: 'absent',
      reason: expect.stringContaining('WORKSPACE_ALLOW_UNSANDBOXED=true') as unknown,
    });
  });

  test("sockets on the host's own stack are said to be reduced isolation", async () => {
    const info = withRunsc(await recordedInfo('docker-desktop-macos'), ['-network', 'host']);
    expect(await healthOn(info)).toMatchObject({
      details: {
        network_stack: 'host',
        network_stack_warning: expect.stringContaining('isolation is reduced') as unknown,
      },
    });
  });
});
