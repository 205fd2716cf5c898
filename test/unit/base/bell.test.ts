import { describe, expect, test, vi } from 'vitest';
import { Bell } from '../../../src/base/bell.ts';
import { FakeClock } from '../../support/clock.ts';

const never = new AbortController().signal;

describe('Bell', () => {
  test('a ring wakes all who wait, and leaves no timer', async () => {
    const bell = new Bell();
    const clock = new FakeClock();
    const waiting = [bell.ringAfter(0, 500, clock, never), bell.ringAfter(0, 500, clock, never)];
    await clock.whenSleeping(2);
    bell.ring();
    await Promise.all(waiting);
    expect(clock.sleeping).toBe(0);
  });

  test('without a ring the pause ends by itself, not before', async () => {
    const bell = new Bell();
    const clock = new FakeClock();
    const ended = vi.fn();
    const waiting = bell.ringAfter(0, 500, clock, never).then(ended);
    await clock.advance(499);
    expect(ended).not.toHaveBeenCalled();
    await clock.advance(1);
    await waiting;
  });

  test('a ring between looking and waiting is not missed; one heard already does not count', async () => {
    const bell = new Bell();
    const clock = new FakeClock();
    const heard = bell.rings;
    bell.ring();
    await bell.ringAfter(heard, 500, clock, never);
    const ended = vi.fn();
    const waiting = bell.ringAfter(bell.rings, 500, clock, never).then(ended);
    await clock.advance(499);
    expect(ended).not.toHaveBeenCalled();
    bell.ring();
    await waiting;
  });

  test('an abort ends the wait with its reason, also when it came before', async () => {
    const bell = new Bell();
    const clock = new FakeClock();
    const abort = new AbortController();
    const why = new Error('enough');
    const waiting = bell.ringAfter(0, 500, clock, abort.signal);
    abort.abort(why);
    await expect(waiting).rejects.toBe(why);
    bell.ring();
    await expect(bell.ringAfter(0, 500, clock, abort.signal)).rejects.toBe(why);
    expect(clock.sleeping).toBe(0);
  });
});
