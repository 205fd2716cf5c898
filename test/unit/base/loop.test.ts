import { describe, expect, test, vi } from 'vitest';
import { startLoop } from '../../../src/base/loop.ts';
import { FakeClock } from '../../support/clock.ts';

describe('startLoop', () => {
  test('calls the work after each pause, and not at once', async () => {
    const clock = new FakeClock();
    const work = vi.fn(async () => undefined);
    using _ = startLoop(100, work, clock, vi.fn());
    await clock.advance(99);
    expect(work).toHaveBeenCalledTimes(0);
    await clock.advance(1);
    expect(work).toHaveBeenCalledTimes(1);
    await clock.advance(300);
    expect(work).toHaveBeenCalledTimes(4);
  });

  test('never overlaps: the pause begins when the work has ended', async () => {
    const clock = new FakeClock();
    const work = vi.fn(() => clock.sleep(250));
    using _ = startLoop(100, work, clock, vi.fn());
    await clock.advance(349);
    expect(work).toHaveBeenCalledTimes(1);
    await clock.advance(100);
    expect(work).toHaveBeenCalledTimes(1);
    await clock.advance(1);
    expect(work).toHaveBeenCalledTimes(2);
  });

  test('asks for each pause anew', async () => {
    const clock = new FakeClock();
    const work = vi.fn(async () => undefined);
    const pause = vi.fn<() => number>().mockReturnValue(1000).mockReturnValueOnce(10);
    using _ = startLoop(pause, work, clock, vi.fn());
    await clock.advance(10);
    expect(work).toHaveBeenCalledTimes(1);
    await clock.advance(999);
    expect(work).toHaveBeenCalledTimes(1);
    await clock.advance(1);
    expect(work).toHaveBeenCalledTimes(2);
  });

  test('stopped in a pause, it never calls again and holds no timer', async () => {
    const clock = new FakeClock();
    const work = vi.fn(async () => undefined);
    const failed = vi.fn();
    const loop = startLoop(100, work, clock, failed);
    await clock.whenSleeping();
    loop[Symbol.dispose]();
    await clock.advance(1000);
    expect([work.mock.calls.length, failed.mock.calls.length, clock.sleeping]).toEqual([0, 0, 0]);
  });

  test('stopped in its work, it aborts the work and keeps its failure to itself', async () => {
    const clock = new FakeClock();
    const failed = vi.fn();
    const work = vi.fn((signal: AbortSignal) => clock.sleep(5000, signal));
    const loop = startLoop(100, work, clock, failed);
    await clock.advance(100);
    loop[Symbol.dispose]();
    loop[Symbol.dispose]();
    await clock.advance(10_000);
    expect(work.mock.calls[0]?.[0].aborted).toBe(true);
    expect([work.mock.calls.length, failed.mock.calls.length, clock.sleeping]).toEqual([1, 0, 0]);
  });

  test('a failure that escapes ends it and is handed on once', async () => {
    const clock = new FakeClock();
    const failed = vi.fn();
    const why = new Error('no answer');
    const work = vi.fn(() => Promise.reject(why));
    using _ = startLoop(100, work, clock, failed);
    await clock.advance(1000);
    expect(work).toHaveBeenCalledTimes(1);
    expect(failed.mock.calls).toEqual([[why]]);
  });
});
