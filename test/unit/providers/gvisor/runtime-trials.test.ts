import { describe, expect, test, vi } from 'vitest';
import { gvisorProfile } from '../../../../src/providers/gvisor/container-profile.ts';
import type { EngineInfo } from '../../../../src/providers/gvisor/engine-info.ts';
import { RuntimeTrials } from '../../../../src/providers/gvisor/runtime-trials.ts';
import type { TryRuntime } from '../../../../src/providers/gvisor/runtime-trials.ts';
import { FakeClock } from '../../../support/clock.ts';

const engine: EngineInfo = {
  ...{ id: 'engine', version: '1', architecture: 'x86_64', cpus: 2, memoryBytes: 2 ** 30 },
  ...{ storageDriver: 'overlay2', operatingSystem: 'Debian', osType: 'linux' },
  ...{ kernelVersion: '6.1', cgroupVersion: '2', securityOptions: [], defaultRuntime: 'runc' },
  runtimes: new Map([['runsc', { path: '/runsc', args: [] }]]),
} as unknown as EngineInfo;

const hangUp = new Error('socket hang up');

function setUp() {
  const clock = new FakeClock();
  const tryRuntime = vi.fn<TryRuntime>(async () => {
    throw hangUp;
  });
  const trials = new RuntimeTrials({ tryRuntime, profile: gvisorProfile('runsc'), clock });
  const ask = async () => {
    const { state } = await trials.try(engine, new AbortController().signal);
    // A trial that was begun for it has ended then.
    await clock.advance(0);
    return state;
  };
  return { clock, tryRuntime, trials, ask };
}

describe('a runtime that failed its trial', () => {
  test('is soon tried again: its engine may only have been on its way out', async () => {
    const { clock, tryRuntime, ask } = setUp();
    expect(await ask()).toBe('broken');
    tryRuntime.mockResolvedValue({ kernel: 'gvisor', platform: 'systrap', network: 'sandbox' });
    await clock.advance(999);
    expect(await ask()).toBe('broken');
    expect(tryRuntime).toHaveBeenCalledTimes(1);
    await clock.advance(1);
    // Whoever asks first has it tried, and is told what is known.
    expect([await ask(), await ask()]).toEqual(['broken', 'works']);
    expect(tryRuntime).toHaveBeenCalledTimes(2);
  });

  test('and fails again and again is tried ever more rarely, but at least twice a minute', async () => {
    const { clock, tryRuntime, ask } = setUp();
    const triedAt: number[] = [];
    for (let second = 0; second <= 180; second += 1) {
      const before = tryRuntime.mock.calls.length;
      expect(await ask()).toBe('broken');
      if (tryRuntime.mock.calls.length > before) triedAt.push(second);
      await clock.advance(1_000);
    }
    expect(triedAt).toEqual([0, 1, 3, 7, 15, 31, 61, 91, 121, 151]);
  });
});
