import { describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../../../src/base/clock.ts';
import { EmergentError } from '../../../../src/domain/errors.ts';
import type { SandboxSpec } from '../../../../src/domain/provider.ts';
import { gvisorProfile } from '../../../../src/providers/gvisor/container-profile.ts';
import { Lifecycle } from '../../../../src/providers/gvisor/lifecycle.ts';
import type { LifecycleParts } from '../../../../src/providers/gvisor/lifecycle.ts';
import { recordLog } from '../../../support/log.ts';

const program = { entrypoint: [], command: ['serve'], workdir: '/app' };
const never = new AbortController().signal;
const network = Promise.resolve();
const running = { id: 'id', ours: true, running: true, paused: false, end: undefined, program };
const spec: SandboxSpec = {
  workspaceId: '0f0e0d0c-0b0a-4908-8706-050403020100',
  sandboxName: 'box',
  containerType: 'agent_workspace',
  image: 'base',
  limits: { cpu: 8, memoryBytes: 2 ** 30, diskBytes: 2 ** 31 },
  network: 'nat',
  env: {},
};

/** As the engine refuses. */
function refusal(statusCode: number): EmergentError {
  return new EmergentError('provider_failed', 'refused', { cause: { statusCode } });
}

function setUp() {
  const calls = {
    find: vi.fn(async (): Promise<typeof running | undefined> => running),
    create: vi.fn(async () => undefined),
    start: vi.fn(async () => undefined),
    stop: vi.fn(async () => undefined),
    remove: vi.fn(async () => undefined),
    createVolume: vi.fn(async () => undefined),
    removeVolume: vi.fn(async () => true),
    terminate: vi.fn<(graceMs: number) => Promise<void>>(async () => undefined),
    ready: vi.fn(async () => undefined),
    adopt: vi.fn(async () => undefined),
    exec: vi.fn(async () => ({ events: [] })),
    close: vi.fn(),
  };
  const preparation = {
    engine: { cpus: 2 },
    agentVolume: 'emergent-agent-abc',
    natNetwork: 'emergent-nat',
  };
  const prepare = async (): Promise<typeof preparation> => preparation;
  const recorded = recordLog();
  const parts = {
    containers: calls,
    disks: {
      grant: async (bytes: number) => ({ mode: 'loop', bytes }),
      make: calls.createVolume,
      remove: calls.removeVolume,
      ready: async () => 'loop',
    },
    guests: {
      of: () => calls,
      tokenHash: () => 'hash',
      close: calls.close,
      whileAwake: (_ref: unknown, work: () => Promise<unknown>) => work(),
      idle: { started: () => undefined },
    },
    prepared: { get: prepare, forContainer: prepare, forget: vi.fn() },
    runtime: { facts: {}, forget: vi.fn() },
    images: { ensure: async () => ({ user: '', setsHome: false, program }) },
    defaults: {
      ...{ installationId: 'installation', nameservers: ['9.9.9.9'] },
      profile: gvisorProfile('runsc'),
    },
    clock: { ...systemClock, sleep: async () => undefined },
    log: recorded.log,
  };
  const lifecycle = new Lifecycle(parts as unknown as LifecycleParts);
  return { lifecycle, calls, recorded };
}

describe('Lifecycle', () => {
  test('removes a container that comes back until its volume is free', async () => {
    const { lifecycle, calls } = setUp();
    calls.removeVolume.mockResolvedValueOnce(false).mockResolvedValueOnce(false);
    await lifecycle.destroy(spec, never);
    expect(calls.remove).toHaveBeenCalledTimes(3);
    expect(calls.removeVolume).toHaveBeenCalledTimes(3);
  });

  test('lets go of the link to an old container before a new one is made', async () => {
    const { lifecycle, calls } = setUp();
    await lifecycle.create(spec, network, never);
    const [closed, created] = [calls.close, calls.create].map(
      (call) => call.mock.invocationCallOrder[0] ?? Infinity,
    );
    expect(closed).toBeLessThan(created ?? 0);
  });

  test('says so when the volume never gets free', async () => {
    const { lifecycle, calls } = setUp();
    calls.removeVolume.mockResolvedValue(false);
    await expect(lifecycle.destroy(spec, never)).rejects.toMatchObject({
      code: 'provider_failed',
      message: expect.stringContaining('is used by another container') as unknown,
    });
  });

  test.each(['stop', 'destroy'] as const)(
    '%s goes on without an agent that cannot be reached, and logs it',
    async (operation) => {
      const { lifecycle, calls, recorded } = setUp();
      calls.terminate.mockRejectedValue(new EmergentError('sandbox_unreachable', 'no answer'));
      await lifecycle[operation](spec, never);
      expect(operation === 'stop' ? calls.stop : calls.remove).toHaveBeenCalledOnce();
      expect(calls.close).toHaveBeenCalled();
      expect(JSON.stringify(recorded.lines)).toContain('could not be asked to end');
    },
  );

  test.each(['stop', 'destroy'] as const)('%s gives commands the time it is told', async (how) => {
    const { lifecycle, calls } = setUp();
    await lifecycle[how](spec, never);
    await lifecycle[how](spec, never, { graceMs: 30_000 });
    await lifecycle[how](spec, never, { graceMs: 3_600_000 });
    const graces = calls.terminate.mock.calls.map(([graceMs]) => graceMs);
    expect(graces).toEqual([10_000, 30_000, 600_000]);
  });

  test('destroy keeps the files when told, and removes the container', async () => {
    const { lifecycle, calls } = setUp();
    await lifecycle.destroy(spec, never, { keepFiles: true });
    expect(calls.remove).toHaveBeenCalledOnce();
    expect(calls.close).toHaveBeenCalled();
    expect(calls.removeVolume).not.toHaveBeenCalled();
  });

  test('create and resume tell what the image is made to run', async () => {
    const { lifecycle, calls } = setUp();
    expect(await lifecycle.create(spec, network, never)).toMatchObject({ program });
    expect(await lifecycle.resume(spec, spec, never)).toMatchObject({ program });
    calls.find.mockResolvedValue(undefined);
    expect(await lifecycle.resume(spec, spec, never)).toMatchObject({ program });
  });

  test('does not go on for a caller that has gone', async () => {
    const { lifecycle, calls } = setUp();
    const caller = new AbortController();
    const gone = new EmergentError('client_closed', 'gone');
    calls.terminate.mockImplementation(async () => {
      caller.abort(gone);
      throw new Error('aborted');
    });
    await expect(lifecycle.stop(spec, caller.signal)).rejects.toBe(gone);
    expect(calls.stop).not.toHaveBeenCalled();
  });

  test('resume gives the agent the environment, unless it is of a version that takes none', async () => {
    const { lifecycle, calls } = setUp();
    const given = { ...spec, env: { A: 'one' } };
    await lifecycle.resume(given, given, never);
    expect(calls.adopt).toHaveBeenCalledWith({ A: 'one' }, expect.any(AbortSignal));
    calls.adopt.mockRejectedValueOnce(new EmergentError('unsupported', 'an earlier version'));
    await lifecycle.resume(given, given, never);
    calls.adopt.mockRejectedValueOnce(new EmergentError('sandbox_unreachable', 'no answer'));
    await expect(lifecycle.resume(given, given, never)).rejects.toThrow('no answer');
    await lifecycle.resume(spec, spec, never);
    expect(calls.adopt).toHaveBeenCalledTimes(3);
  });

  test('create makes room for itself when the same container appears meanwhile', async () => {
    const { lifecycle, calls } = setUp();
    calls.create.mockRejectedValueOnce(refusal(409));
    const { limits } = await lifecycle.create(spec, network, never);
    expect(calls.create).toHaveBeenCalledTimes(2);
    expect(limits.cpu).toBe(2);
  });

  test('create takes everything back when the agent does not come', async () => {
    const { lifecycle, calls } = setUp();
    calls.ready.mockRejectedValue(new EmergentError('sandbox_unreachable', 'no answer'));
    await expect(lifecycle.create(spec, network, never)).rejects.toThrow('no answer');
    expect(calls.removeVolume).toHaveBeenCalledTimes(2);
    expect(calls.close).toHaveBeenCalled();
  });
});
