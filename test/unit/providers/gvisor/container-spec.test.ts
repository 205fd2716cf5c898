import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SandboxSpec } from '../../../../src/domain/provider.ts';
import { gvisorProfile, plainProfile } from '../../../../src/providers/gvisor/container-profile.ts';
import { containerOptions } from '../../../../src/providers/gvisor/container-spec.ts';

const MiB = 2 ** 20;
const spec: SandboxSpec = {
  workspaceId: '0f0e0d0c-0b0a-4908-8706-050403020100',
  sandboxName: 'emergent-0f0e0d0c',
  containerType: 'agent_workspace',
  image: 'base',
  limits: { cpu: 1.5, memoryBytes: 2 ** 30, diskBytes: 2 ** 31 },
  network: 'nat',
  env: {},
};
const settings = {
  installationId: 'installation-1',
  profile: gvisorProfile('runsc'),
  agentVolume: 'emergent-agent-abc',
  natNetwork: 'emergent-nat',
  nameservers: ['9.9.9.9', '2620:fe::fe'],
};

const program = { entrypoint: ['/docker-entrypoint.sh'], command: ['serve'], workdir: '/app' };
const rootImage = { user: '', setsHome: false, program };

function optionsFor(
  change: Partial<SandboxSpec> = {},
  nameservers = settings.nameservers,
  image = rootImage,
) {
  return containerOptions({ ...spec, ...change }, image, { ...settings, nameservers }, 'the-hash');
}

function environmentOf(change: Partial<SandboxSpec> = {}): Record<string, string> {
  const entries = (optionsFor(change).Env ?? []).map((entry): [string, string] => {
    const at = entry.indexOf('=');
    return [entry.slice(0, at), entry.slice(at + 1)];
  });
  expect(new Set(entries.map(([name]) => name)).size).toBe(entries.length);
  return Object.fromEntries(entries);
}

describe('containerOptions', () => {
  test('runs the agent as PID 1 under the sandboxed runtime', () => {
    expect(optionsFor()).toMatchObject({
      name: 'emergent-0f0e0d0c',
      Image: 'base',
      Hostname: '0f0e0d0c',
      User: '0:0',
      WorkingDir: '/workspace',
      Entrypoint: ['/.emergent/agent', 'init'],
      Cmd: [],
      HostConfig: { Runtime: 'runsc' },
    });
  });

  test('is hardened', () => {
    const host = optionsFor().HostConfig;
    expect(host).toMatchObject({
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      RestartPolicy: { Name: 'no' },
    });
    expect((host?.CapAdd as string[]).toSorted()).toEqual([
      ...['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'SETGID', 'SETUID', 'SYS_CHROOT'],
    ]);
    for (const opening of ['Privileged', 'Binds', 'Devices', 'PidMode', 'IpcMode', 'UsernsMode']) {
      expect(host).not.toHaveProperty(opening);
    }
    expect(optionsFor()).not.toHaveProperty('ExposedPorts');
    expect(host).not.toHaveProperty('PortBindings');
  });

  test('has only its own volume to write to; the agent is read-only', () => {
    expect(optionsFor().HostConfig?.Mounts).toEqual([
      {
        Type: 'volume',
        Source: 'agent-workspace-0f0e0d0c-0b0a-4908-8706-050403020100',
        Target: '/workspace',
      },
      { Type: 'volume', Source: 'emergent-agent-abc', Target: '/.emergent', ReadOnly: true },
    ]);
  });

  test('is limited in CPU, memory, processes and log', () => {
    expect(optionsFor().HostConfig).toMatchObject({
      NanoCpus: 1_500_000_000,
      Memory: 1_408 * MiB,
      MemorySwap: 1_408 * MiB,
      ShmSize: 64 * MiB,
      Tmpfs: { '/tmp': 'rw,exec,nosuid,nodev,mode=1777,size=536870912' },
      PidsLimit: 32_768,
      Ulimits: [{ Name: 'nproc', Soft: 512, Hard: 512 }],
      LogConfig: { Config: { 'max-size': '1m', 'max-file': '1' } },
    });
  });

  test('a plain container is as hardened, and bounded by what its kernel counts per container', () => {
    const profile = plainProfile(true);
    const plain = containerOptions(spec, rootImage, { ...settings, profile }, 'the-hash');
    const {
      Runtime: _runtime,
      Ulimits: _ulimits,
      ...hardening
    } = { Runtime: undefined, ...optionsFor().HostConfig };
    expect(plain.HostConfig).toEqual({
      ...hardening,
      Memory: 1_280 * MiB,
      MemorySwap: 1_280 * MiB,
      PidsLimit: 512,
    });
    expect(plain.Labels).toMatchObject({ 'dev.emergent.provider': 'docker' });
    expect(plain.Env).toContain('EMERGENT_MEMORY_USAGE=cgroup');
  });

  test('a number of CPUs that is no exact decimal is still a whole number of nanos', () => {
    const cpu = 0.1 + 0.2;
    const host = optionsFor({ limits: { ...spec.limits, cpu } }).HostConfig;
    expect(host?.NanoCpus).toBe(300_000_000);
  });

  test('carries the labels by which its owner is found', () => {
    expect(optionsFor({ containerType: 'mcp_server' }).Labels).toEqual({
      'dev.emergent.installation': 'installation-1',
      'dev.emergent.provider': 'gvisor',
      'dev.emergent.workspace': spec.workspaceId,
      'dev.emergent.sandbox': spec.sandboxName,
      'dev.emergent.kind': 'mcp_server',
      'dev.emergent.program': JSON.stringify(program),
    });
  });

  test('each volume has a name of its own, and the agent is told whose they are', () => {
    const volumes = ['/data', '/var/lib/app'];
    const mounts = optionsFor({ volumes }).HostConfig?.Mounts ?? [];
    const named = mounts.filter(({ Target }) => volumes.includes(Target));
    expect(named.map(({ Target }) => Target)).toEqual(volumes);
    const names = mounts.map(({ Source }) => Source);
    expect(new Set(names).size).toBe(4);
    for (const { Source, Type } of named) {
      expect(Type).toBe('volume');
      expect(Source).toMatch(new RegExp(`^agent-workspace-${spec.workspaceId}-[0-9a-f]{12}$`));
    }
    expect(optionsFor({ volumes }).HostConfig?.Mounts).toEqual(mounts);
    expect(environmentOf({ volumes })['EMERGENT_VOLUMES']).toBe('["/data","/var/lib/app"]');
    expect(environmentOf()).not.toHaveProperty('EMERGENT_VOLUMES');
  });

  test('with the network nat it is on the shared bridge and is told its name servers', () => {
    expect(optionsFor().HostConfig?.NetworkMode).toBe('emergent-nat');
    expect(environmentOf()).toEqual({
      EMERGENT_TOKEN_SHA256: 'the-hash',
      EMERGENT_MEMORY_LIMIT: '1073741824',
      EMERGENT_WORKDIR: '/workspace',
      EMERGENT_USER: '',
      EMERGENT_OWN_HOME: 'true',
      EMERGENT_NAMESERVERS: '9.9.9.9,2620:fe::fe',
    });
    expect(optionsFor({}, []).Env?.join()).not.toContain('NAMESERVERS');
  });

  test("the image's user and home hold for commands, and its program's settings for nobody", () => {
    const worker = { user: 'worker:staff', setsHome: true, program };
    const options = optionsFor({}, [], worker);
    expect(options).toMatchObject({
      ...{ User: '0:0', Healthcheck: { Test: ['NONE'] }, StopSignal: 'SIGTERM' },
      ...{ Entrypoint: ['/.emergent/agent', 'init'], Cmd: [] },
    });
    expect(options.Env).toContain('EMERGENT_USER=worker:staff');
    expect(options.Env).toContain('EMERGENT_OWN_HOME=false');
    expect(environmentOf({ env: { HOME: '/elsewhere' } })).toMatchObject({
      ...{ HOME: '/elsewhere', EMERGENT_OWN_HOME: 'false' },
    });
  });

  test('isolated, it has no network and no name servers', () => {
    expect(optionsFor({ network: 'isolated' }).HostConfig?.NetworkMode).toBe('none');
    expect(environmentOf({ network: 'isolated' })).not.toHaveProperty('EMERGENT_NAMESERVERS');
  });

  test("passes the caller's environment on as it is", () => {
    const env = { A: '1', EMPTY: '', EQUATION: 'a=b=c', LINES: 'a\nb' };
    expect(environmentOf({ env })).toMatchObject(env);
  });

  test('no environment of a caller reaches or changes what is meant for the agent', () => {
    const name = fc.oneof(
      fc.constantFrom('EMERGENT_TOKEN_SHA256', 'EMERGENT_MEMORY_LIMIT', 'EMERGENT_NAMESERVERS'),
      fc.stringMatching(/^EMERGENT_[A-Z]{1,5}$/),
    );
    const network = fc.constantFrom('nat' as const, 'isolated' as const);
    fc.assert(
      fc.property(fc.dictionary(name, fc.string()), network, (env, mode) => {
        expect(environmentOf({ env, network: mode })).toEqual(environmentOf({ network: mode }));
      }),
    );
  });
});
