import { afterEach, describe, expect, test, vi } from 'vitest';
import { addRow, setUpReconciler } from './support/reconciler.ts';
import { admin, Gate } from './support/workspaces.ts';

const real = { dryRun: false };
const dry = { dryRun: true };

afterEach(() => {
  vi.useRealTimers();
});

describe('the loop', () => {
  test('runs at the start and every minute', async () => {
    const { reconciler, provider, clock } = setUpReconciler();
    await using _ = reconciler;
    await clock.advance(120_000);
    expect(provider.list).toHaveBeenCalledTimes(0);
    reconciler.start();
    await clock.advance(0);
    expect(provider.list).toHaveBeenCalledTimes(1);
    await clock.advance(59_999);
    expect(provider.list).toHaveBeenCalledTimes(1);
    await clock.advance(1);
    expect(provider.list).toHaveBeenCalledTimes(2);
  });

  test('runs every five seconds while a provider cannot be listed, and says so once', async () => {
    const { reconciler, provider, clock, told } = setUpReconciler();
    await using _ = reconciler;
    provider.list.mockRejectedValue(new Error('no engine'));
    reconciler.start();
    await clock.advance(10_000);
    expect(provider.list).toHaveBeenCalledTimes(3);
    provider.list.mockResolvedValue([]);
    await clock.advance(64_999);
    expect(provider.list).toHaveBeenCalledTimes(4);
    await clock.advance(1);
    expect(provider.list).toHaveBeenCalledTimes(5);
    expect(told()).toEqual([
      'warn: the sandboxes of fake cannot be listed; they are left alone',
      'info: the sandboxes of fake can be listed again',
    ]);
  });

  test('goes on when the database is away, as often, and says so once', async () => {
    const { reconciler, store, provider, clock, told } = setUpReconciler();
    await using _ = reconciler;
    const all = vi.spyOn(store, 'all').mockRejectedValue(new Error('no database'));
    reconciler.start();
    await clock.advance(10_000);
    expect(all).toHaveBeenCalledTimes(3);
    all.mockResolvedValue([]);
    await clock.advance(5_000);
    expect(provider.list).toHaveBeenCalledTimes(1);
    expect(told()).toEqual([
      'warn: reconciling failed; it is tried again',
      'info: reconciling works again',
    ]);
  });

  test('what failed is tried again soon, less often each time, however it is nudged', async () => {
    const { reconciler, store, upkeep, provider, clock } = setUpReconciler();
    await using _ = reconciler;
    addRow({ store }, 'stopping');
    upkeep.finishStop.mockImplementation(async ({ id }) => {
      await store.release(id);
      reconciler.nudge();
      throw new Error('no engine');
    });
    reconciler.start();
    await clock.advance(0);
    for (const pauseMs of [5_000, 10_000, 15_000, 15_000]) {
      const runs = provider.list.mock.calls.length;
      await clock.advance(pauseMs - 1);
      expect(provider.list).toHaveBeenCalledTimes(runs);
      await clock.advance(1);
      expect(provider.list).toHaveBeenCalledTimes(runs + 1);
    }
    upkeep.finishStop.mockResolvedValue(undefined);
    await clock.advance(15_000);
    const runs = provider.list.mock.calls.length;
    await clock.advance(59_999);
    expect(provider.list).toHaveBeenCalledTimes(runs);
  });

  test('nudges make it run soon, together, and at most once a second', async () => {
    const { reconciler, provider, clock } = setUpReconciler();
    await using _ = reconciler;
    reconciler.start();
    await clock.advance(10_000);
    reconciler.nudge();
    reconciler.nudge('w');
    // Once for the nudge to be heard, once for the turn that it begins.
    await clock.advance(0);
    await clock.advance(0);
    expect(provider.list).toHaveBeenCalledTimes(2);
    reconciler.nudge();
    await clock.advance(999);
    expect(provider.list).toHaveBeenCalledTimes(2);
    await clock.advance(1);
    expect(provider.list).toHaveBeenCalledTimes(3);
    await clock.advance(59_999);
    expect(provider.list).toHaveBeenCalledTimes(3);
  });

  test('a nudge during a run is answered by another one', async () => {
    const { reconciler, provider, clock } = setUpReconciler();
    await using _ = reconciler;
    const listing = new Gate();
    provider.list.mockImplementationOnce(async () => {
      await listing.pass();
      return [];
    });
    // The loop shares this run, which has begun before the nudge.
    const asked = reconciler.reconcile(admin, real);
    await listing.reached;
    reconciler.start();
    await clock.advance(0);
    reconciler.nudge();
    listing.open();
    await asked;
    await clock.whenSleeping();
    await clock.advance(1_000);
    expect(provider.list).toHaveBeenCalledTimes(2);
  });
});

describe('runs', () => {
  test('of the same order are shared, others come one after the other', async () => {
    const { reconciler, provider, clock } = setUpReconciler();
    const listing = new Gate();
    provider.list.mockImplementationOnce(async () => {
      await listing.pass();
      return [];
    });
    const first = reconciler.reconcile(admin, real);
    await listing.reached;
    const same = reconciler.reconcile(admin, { ...real, minAgeMs: 120_000 });
    const other = reconciler.reconcile(admin, dry);
    const another = reconciler.reconcile(admin, dry);
    await clock.advance(0);
    expect(provider.list).toHaveBeenCalledTimes(1);
    listing.open();
    expect(await same).toBe(await first);
    expect(await another).toBe(await other);
    expect((await other).dryRun).toBe(true);
    expect(provider.list).toHaveBeenCalledTimes(2);
    await reconciler.reconcile(admin, real);
    expect(provider.list).toHaveBeenCalledTimes(3);
  });

  test('one that fails does not keep the next from running', async () => {
    const { reconciler, store } = setUpReconciler();
    vi.spyOn(store, 'all').mockRejectedValueOnce(new Error('no database'));
    const [failed, next] = [reconciler.reconcile(admin, real), reconciler.reconcile(admin, dry)];
    await expect(failed).rejects.toThrow('no database');
    expect((await next).dryRun).toBe(true);
  });
});

describe('shutdown', () => {
  test('ends what has begun, begins nothing more and gives back the rest', async () => {
    const setup = setUpReconciler();
    const { reconciler, upkeep, store, provider, clock } = setup;
    const gates = Array.from({ length: 4 }, () => new Gate());
    const queue = gates.values();
    upkeep.finishStop.mockImplementation(async () => queue.next().value?.pass());
    const ids = Array.from({ length: 6 }, () => addRow(setup, 'stopping'));
    const run = reconciler.reconcile(admin, real);
    await Promise.all(gates.map(({ reached }) => reached));

    const closed = vi.fn();
    const closing = reconciler[Symbol.asyncDispose]().then(closed);
    await clock.advance(0);
    expect(closed).not.toHaveBeenCalled();
    for (const gate of gates) gate.open();
    await closing;

    const results = (await run).actions.map(({ result, reason }) => reason ?? result);
    const stopping = 'the server is stopping';
    expect(results).toEqual(['done', 'done', 'done', 'done', stopping, stopping]);
    expect([...store.operators.keys()]).toEqual(ids.slice(0, 4));
    expect(provider.sweep).not.toHaveBeenCalled();
    const late = reconciler.reconcile(admin, real);
    await expect(late).rejects.toMatchObject({ code: 'shutting_down' });
  });

  test('does not wait for ever', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const setup = setUpReconciler();
    const gate = new Gate();
    setup.upkeep.finishStop.mockImplementation(() => gate.pass());
    addRow(setup, 'stopping');
    const run = setup.reconciler.reconcile(admin, real);
    await gate.reached;
    const closing = setup.reconciler[Symbol.asyncDispose]();
    await vi.advanceTimersByTimeAsync(15_000);
    await closing;
    expect(setup.told()).toEqual(['warn: reconciling still went on at shutdown']);
    gate.open();
    await run;
  });

  test('stops a listing, and says nothing of it', async () => {
    const { reconciler, provider, clock, told } = setUpReconciler();
    const listing = new Gate();
    provider.list.mockImplementation(async () => {
      await listing.pass();
      return [];
    });
    reconciler.start();
    await clock.advance(0);
    await listing.reached;
    await reconciler[Symbol.asyncDispose]();
    await clock.advance(120_000);
    expect(provider.list.mock.lastCall?.[0].aborted).toBe(true);
    expect([provider.list.mock.calls.length, told(), clock.sleeping]).toEqual([1, [], 0]);
  });
});
