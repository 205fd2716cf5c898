import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { SandboxRef } from '../../../../src/domain/provider.ts';
import { WarmContainers } from '../../../../src/providers/gvisor/warm.ts';
import type { WarmContainersOptions } from '../../../../src/providers/gvisor/warm.ts';
import { newSpec } from '../../../conformance/sandbox.ts';

const spec = newSpec('base');
const never = new AbortController().signal;

function setUp() {
  const agent = {
    adopt: vi.fn(async () => undefined),
    idle: vi.fn(async () => ({ processes: 0, requests: 0, quietMs: 0 })),
  };
  const idle = {
    sleeps: vi.fn(() => false),
    hasEnded: vi.fn(() => false),
    freezeNow: vi.fn(async (): Promise<string> => 'frozen'),
  };
  const ensure = vi.fn(async () => ({ id: 'sha256:1' }));
  const warm = new WarmContainers({
    guests: {
      idle,
      of: () => agent,
      whileAwake: (_: SandboxRef, work: () => Promise<unknown>) => work(),
    },
    prepared: { get: async () => ({ engine: { architecture: 'x86_64' } }) },
    images: { ensure },
  } as unknown as WarmContainersOptions);
  return { warm, agent, idle, ensure };
}

describe('WarmContainers', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('one that does not answer is given up soon', async () => {
    const { warm, agent } = setUp();
    agent.adopt.mockReturnValue(new Promise(() => undefined));
    const adopting = expect(warm.adopt(spec, spec, never)).rejects.toMatchObject({
      code: 'sandbox_unreachable',
      message: expect.stringContaining('within 1500 ms') as unknown,
    });
    await vi.advanceTimersByTimeAsync(1_500);
    await adopting;
  });

  test('one that has ended is not even asked', async () => {
    const { warm, agent, idle } = setUp();
    idle.hasEnded.mockReturnValue(true);
    await expect(warm.adopt(spec, spec, never)).rejects.toThrow('has ended while it waited');
    expect(agent.adopt).not.toHaveBeenCalled();
  });

  test('one whose agent still ends a request is asked again until it is frozen', async () => {
    const { warm, idle } = setUp();
    idle.freezeNow.mockResolvedValueOnce('busy').mockResolvedValueOnce('busy');
    await warm.rest(spec, never);
    expect(idle.freezeNow).toHaveBeenCalledTimes(3);
  });

  test('one that stays busy, or cannot be frozen here, rests all the same', async () => {
    const { warm, idle } = setUp();
    idle.freezeNow.mockResolvedValue('busy');
    await warm.rest(spec, never);
    const asked = idle.freezeNow.mock.calls.length;
    idle.freezeNow.mockResolvedValue('never');
    await warm.rest(spec, never);
    expect(idle.freezeNow).toHaveBeenCalledTimes(asked + 1);
  });

  test('one that sleeps is not woken to be put to sleep', async () => {
    const { warm, agent, idle } = setUp();
    idle.sleeps.mockReturnValue(true);
    await warm.rest(spec, never);
    expect(agent.idle).not.toHaveBeenCalled();
  });

  test('the fingerprint is the id of an image that is there, pulled if need be', async () => {
    const { warm, ensure } = setUp();
    expect(await warm.fingerprint({ image: 'base' }, never)).toBe('sha256:1');
    expect(ensure).toHaveBeenCalledWith('base', 'x86_64', never, expect.any(Function));
  });
});
