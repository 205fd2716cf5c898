import { describe, expect, test } from 'vitest';
import type { GuestIdle } from '../../../../../src/providers/guest/idle.ts';
import { eventually } from '../../../../support/eventually.ts';
import { idleMs, never, quiet, ref, setUp, use } from './support.ts';

describe('IdleSandboxes', () => {
  test('freezes at once on demand, unless something goes on', async () => {
    const { idle, clock, freezer, ask } = setUp();
    ask.mockResolvedValue({ ...quiet, quietMs: 0 });
    expect(await idle.freezeNow(ref, never)).toBe('frozen');
    expect(freezer.now).toBe('frozen');
    const letGo = await idle.hold(ref);
    expect(await idle.freezeNow(ref, never)).toBe('busy');
    letGo();
    ask.mockResolvedValue({ ...quiet, processes: 1 });
    expect(await idle.freezeNow(ref, never)).toBe('busy');
    expect(freezer.now).toBe('thawed');
    ask.mockResolvedValue(quiet);
    await clock.advance(idleMs);
    expect(freezer.now).toBe('frozen');
  });

  test('one that was frozen here sleeps until it is used, or its link or itself is lost', async () => {
    const { idle, freezer } = setUp();
    expect([idle.sleeps(ref), idle.hasEnded(ref)]).toEqual([false, false]);
    await idle.freezeNow(ref, never);
    expect([idle.sleeps(ref), idle.hasEnded(ref)]).toEqual([true, false]);
    await use(idle);
    expect(idle.sleeps(ref)).toBe(false);
    await idle.freezeNow(ref, never);
    idle.lost(ref);
    freezer.now = 'frozen';
    expect(idle.sleeps(ref)).toBe(false);
    freezer.now = 'gone';
    expect([idle.sleeps(ref), idle.hasEnded(ref)]).toEqual([false, true]);
  });

  test('a use that comes and goes keeps a demand from freezing', async () => {
    const { idle, freezer, ask } = setUp();
    const answer = Promise.withResolvers<GuestIdle>();
    ask.mockReturnValueOnce(answer.promise);
    const demand = idle.freezeNow(ref, never);
    await eventually(() => {
      expect(ask).toHaveBeenCalled();
    });
    await use(idle);
    answer.resolve(quiet);
    expect(await demand).toBe('busy');
    expect(freezer.now).toBe('thawed');
  });

  test('freezes nothing when it is turned off, but thaws what others have frozen', async () => {
    const { idle, clock, freezer } = setUp(null);
    freezer.now = 'frozen';
    await use(idle);
    expect(freezer.now).toBe('thawed');
    expect(await idle.freezeNow(ref, never)).toBe('never');
    await clock.advance(60_000);
    expect(freezer.now).toBe('thawed');
    expect(idle.facts()).toEqual({ idle_freeze: 'off' });
  });

  test('says why nothing can be frozen', async () => {
    const { idle, clock, find, ask } = setUp();
    find.mockResolvedValue({ state: 'absent', why: 'elsewhere' });
    expect(idle.facts()).toEqual({ idle_freeze: 'on' });
    await use(idle);
    await clock.advance(idleMs);
    expect(idle.facts()).toEqual({ idle_freeze: 'absent', idle_freeze_reason: 'elsewhere' });
    await use(idle);
    expect([find.mock.calls.length, ask.mock.calls.length]).toEqual([1, 0]);
  });

  test('leaves alone what the engine would wait for, and says so', async () => {
    const { idle, clock, freezer, refusal } = setUp();
    refusal.mockResolvedValue('live-restore is off');
    await use(idle);
    await clock.advance(60_000);
    expect(freezer.now).toBe('thawed');
    expect(idle.facts()).toMatchObject({ idle_freeze_reason: 'live-restore is off' });
  });

  test('never fails a use: that finds out by itself what is wrong', async () => {
    const { idle, find, recorded } = setUp();
    find.mockRejectedValue(new Error('no engine'));
    await use(idle);
    expect(recorded.entries()).toMatchObject([{ level: 'warn', sandbox: 'box' }]);
  });

  test('thaws what is frozen when it is disposed of, and leaves it so', async () => {
    const { idle, clock, freezer } = setUp();
    await use(idle);
    await clock.advance(idleMs);
    expect(freezer.now).toBe('frozen');
    idle[Symbol.dispose]();
    idle.lost(ref);
    expect(freezer.now).toBe('thawed');
    expect(clock.sleeping).toBe(0);
  });

  test('leaves frozen what another server froze when it is disposed of', async () => {
    const { idle, freezer } = setUp();
    await use(idle);
    freezer.now = 'frozen';
    expect(await idle.isFrozen(ref)).toBe(true);
    idle[Symbol.dispose]();
    expect(freezer.now).toBe('frozen');
  });
});
