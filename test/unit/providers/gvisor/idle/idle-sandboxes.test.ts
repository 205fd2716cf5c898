import { describe, expect, test } from 'vitest';
import type { GuestIdle } from '../../../../../src/providers/guest/idle.ts';
import { FakeFreezer, idleMs, quiet, ref, setUp, use } from './support.ts';

describe('IdleSandboxes', () => {
  test('freezes a sandbox when nobody has used it for so long and nothing runs in it', async () => {
    const { idle, clock, freezer, ask } = setUp();
    await use(idle);
    await clock.advance(idleMs - 1);
    expect([freezer.now, ask.mock.calls.length]).toEqual(['thawed', 0]);
    await clock.advance(1);
    expect([freezer.now, ask.mock.calls.length]).toEqual(['frozen', 1]);
    expect(await idle.isFrozen(ref)).toBe(true);
    await clock.advance(3_600_000);
    expect(ask).toHaveBeenCalledTimes(1);
    expect(clock.sleeping).toBe(0);
  });

  test('thaws what is held, whoever froze it, and freezes it again afterwards', async () => {
    const { idle, clock, freezer } = setUp();
    freezer.now = 'frozen';
    const letGo = await idle.hold(ref);
    expect(freezer.now).toBe('thawed');
    await clock.advance(10 * idleMs);
    expect(freezer.now).toBe('thawed');
    letGo();
    letGo();
    await clock.advance(idleMs);
    expect(freezer.now).toBe('frozen');
  });

  test('counts out once whoever lets go twice', async () => {
    const { idle, clock, freezer } = setUp();
    const [first] = [await idle.hold(ref), await idle.hold(ref)];
    first();
    first();
    await clock.advance(10 * idleMs);
    expect(freezer.now).toBe('thawed');
  });

  test('waits for the last of those who hold it, and counts from then', async () => {
    const { idle, clock, freezer } = setUp();
    const [first, second] = [await idle.hold(ref), await idle.hold(ref)];
    first();
    await clock.advance(2 * idleMs);
    second();
    await clock.advance(idleMs - 1);
    await use(idle);
    await clock.advance(idleMs - 1);
    expect(freezer.now).toBe('thawed');
    await clock.advance(1);
    expect(freezer.now).toBe('frozen');
  });

  test.each([
    ['a process', { processes: 1 }],
    ["another server's request", { requests: 1 }],
  ])('is kept from it by %s, and asks more and more seldom', async (_, busy) => {
    const { idle, clock, freezer, ask } = setUp();
    ask.mockResolvedValue({ ...quiet, ...busy });
    await use(idle);
    const asked: number[] = [];
    ask.mockImplementation(async () => {
      asked.push(clock.monotonic());
      return { ...quiet, ...busy };
    });
    await clock.advance(100_000);
    expect(asked).toEqual([5_000, 10_000, 20_000, 40_000, 70_000, 100_000]);
    expect(freezer.now).toBe('thawed');
    ask.mockResolvedValue(quiet);
    await clock.advance(30_000);
    expect(freezer.now).toBe('frozen');
  });

  test('waits as long as another server would, counting from its last request', async () => {
    const { idle, clock, freezer, ask } = setUp();
    ask.mockResolvedValueOnce({ ...quiet, quietMs: 2_000 });
    await use(idle);
    await clock.advance(idleMs + 2_999);
    expect(freezer.now).toBe('thawed');
    await clock.advance(1);
    expect([freezer.now, ask.mock.calls.length]).toEqual(['frozen', 2]);
  });

  test('does not freeze what was used while the agent was asked', async () => {
    const { idle, clock, freezer, ask } = setUp();
    const answer = Promise.withResolvers<GuestIdle>();
    ask.mockReturnValueOnce(answer.promise);
    await use(idle);
    await clock.advance(idleMs);
    await use(idle);
    answer.resolve(quiet);
    await clock.advance(idleMs - 1);
    expect(freezer.now).toBe('thawed');
    await clock.advance(1);
    expect(freezer.now).toBe('frozen');
  });

  test('does not freeze what is used at the very moment of the answer', async () => {
    const { idle, clock, freezer, ask } = setUp();
    const answer = Promise.withResolvers<GuestIdle>();
    ask.mockReturnValueOnce(answer.promise);
    await use(idle);
    await clock.advance(idleMs);
    answer.resolve(quiet);
    await idle.hold(ref);
    await clock.advance(0);
    expect(freezer.now).toBe('thawed');
  });

  test('an agent that does not answer is asked again', async () => {
    const { idle, clock, freezer, ask } = setUp();
    ask.mockRejectedValueOnce(new Error('no link'));
    await use(idle);
    await clock.advance(idleMs);
    expect(freezer.now).toBe('thawed');
    await clock.advance(idleMs);
    expect(freezer.now).toBe('frozen');
  });

  test('thaws what another server freezes while it is held', async () => {
    const { idle, clock, freezer } = setUp();
    const letGo = await idle.hold(ref);
    freezer.now = 'frozen';
    await clock.advance(250);
    expect(freezer.now).toBe('thawed');
    letGo();
    await clock.advance(250);
    freezer.now = 'frozen';
    await clock.advance(60_000);
    expect(freezer.now).toBe('frozen');
  });

  test('needs no look at the host for a container that was started here', async () => {
    const { idle, clock, freezer, find } = setUp();
    idle.started(ref);
    await use(idle);
    expect(find).not.toHaveBeenCalled();
    await clock.advance(idleMs);
    expect(freezer.now).toBe('frozen');
    await use(idle);
    expect(freezer.now).toBe('thawed');
    expect(find).toHaveBeenCalledTimes(1);
  });

  test('looks again when another container is in its place', async () => {
    const { idle, clock, freezer, find } = setUp();
    await use(idle);
    freezer.now = 'gone';
    const next = new FakeFreezer();
    next.now = 'frozen';
    find.mockResolvedValue({ state: 'found', freezer: next });
    await use(idle);
    expect(next.now).toBe('thawed');
    next.now = 'gone';
    const last = new FakeFreezer();
    find.mockResolvedValue({ state: 'found', freezer: last });
    await clock.advance(idleMs);
    expect(last.now).toBe('frozen');
  });

  test('is told of sandboxes that nobody has used here', async () => {
    const { idle, clock, freezer, ask } = setUp();
    idle.seen(ref);
    await clock.advance(idleMs);
    expect(freezer.now).toBe('frozen');
    idle.seen(ref);
    await clock.advance(idleMs);
    expect(ask).toHaveBeenCalledTimes(1);
  });

  test('thaws what its link was lost to, and freezes it again when the engine is back', async () => {
    const { idle, clock, freezer, refusal } = setUp();
    await use(idle);
    await clock.advance(idleMs);
    refusal.mockRejectedValueOnce(new Error('no engine'));
    idle.lost(ref);
    expect(freezer.now).toBe('thawed');
    await clock.advance(idleMs);
    expect(freezer.now).toBe('thawed');
    await clock.advance(idleMs);
    expect(freezer.now).toBe('frozen');
  });

  test('forgets what is closed, after the last who holds it', async () => {
    const { idle, clock, freezer, ask } = setUp();
    const letGo = await idle.hold(ref);
    idle.close(ref);
    letGo();
    await clock.advance(60_000);
    expect([freezer.now, ask.mock.calls.length, clock.sleeping]).toEqual(['thawed', 0, 0]);
  });
});
