import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { abortReason, systemClock } from '../../../src/base/clock.ts';
import { FakeClock } from '../../support/clock.ts';

describe('systemClock', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('sleep resolves after its time and not before', async () => {
    const woken = vi.fn();
    void systemClock.sleep(1000).then(woken);
    await vi.advanceTimersByTimeAsync(999);
    expect(woken).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(woken).toHaveBeenCalledOnce();
  });

  test('an aborted sleep rejects with the reason and leaves no timer', async () => {
    const controller = new AbortController();
    const slept = systemClock.sleep(1000, controller.signal);
    const reason = new Error('enough');
    controller.abort(reason);
    await expect(slept).rejects.toBe(reason);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('a sleep under an aborted signal never starts', async () => {
    await expect(systemClock.sleep(1000, AbortSignal.abort('late'))).rejects.toThrow('late');
    expect(vi.getTimerCount()).toBe(0);
  });

  test('monotonic never runs backwards', () => {
    const first = systemClock.monotonic();
    vi.advanceTimersByTime(5);
    expect(systemClock.monotonic()).toBeGreaterThanOrEqual(first);
  });
});

describe('abortReason', () => {
  test('keeps an Error and wraps anything else', () => {
    const error = new Error('why');
    expect(abortReason(AbortSignal.abort(error))).toBe(error);
    expect(abortReason(AbortSignal.abort('just so')).message).toBe('aborted: just so');
    expect(abortReason(undefined)).toBeInstanceOf(Error);
  });
});

describe('FakeClock', () => {
  test('stands still, then moves both times together', async () => {
    const clock = new FakeClock(new Date('2031-05-06T00:00:00Z'));
    await clock.advance(1500);
    expect(clock.monotonic()).toBe(1500);
    expect(clock.now().toISOString()).toBe('2031-05-06T00:00:01.500Z');
  });

  test('wakes sleeps in the order they fall due, with the time they were due at', async () => {
    const clock = new FakeClock();
    const woken: [string, number][] = [];
    for (const [name, ms] of [
      ['late', 30],
      ['soon', 10],
      ['never', 100],
    ] as const) {
      void clock.sleep(ms).then(() => woken.push([name, clock.monotonic()]));
    }
    await clock.advance(50);
    expect(woken).toEqual([
      ['soon', 10],
      ['late', 30],
    ]);
    expect(clock.sleeping).toBe(1);
  });

  test('a loop that sleeps again wakes again within one advance', async () => {
    const clock = new FakeClock();
    const ticks: number[] = [];
    const loop = async (): Promise<void> => {
      while (ticks.length < 4) {
        await clock.sleep(30_000);
        ticks.push(clock.monotonic());
      }
    };
    const running = loop();
    await clock.advance(100_000);
    expect(ticks).toEqual([30_000, 60_000, 90_000]);
    await clock.advance(20_000);
    await running;
    expect(ticks).toHaveLength(4);
  });

  test('an aborted sleep rejects and is forgotten', async () => {
    const clock = new FakeClock();
    const controller = new AbortController();
    const slept = clock.sleep(10, controller.signal);
    controller.abort(new Error('stop'));
    await expect(slept).rejects.toThrow('stop');
    expect(clock.sleeping).toBe(0);
  });

  test('whenSleeping resolves once the code under test waits', async () => {
    const clock = new FakeClock();
    const sleeping = clock.whenSleeping(2);
    void clock.sleep(1);
    void clock.sleep(1);
    await sleeping;
    expect(clock.sleeping).toBe(2);
  });
});
