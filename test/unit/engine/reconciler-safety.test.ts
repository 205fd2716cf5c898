import { afterEach, describe, expect, test, vi } from 'vitest';
import { EmergentError } from '../../../src/domain/errors.ts';
import type { FoundSandbox } from '../../../src/domain/provider.ts';
import { FakeProvider, longAgo } from './support/fake-provider.ts';
import { addRow, addSandbox, makeKnown, setUpReconciler } from './support/reconciler.ts';
import type { ReconcilerSetup } from './support/reconciler.ts';
import { admin, Gate } from './support/workspaces.ts';

const real = { dryRun: false };

afterEach(() => {
  vi.useRealTimers();
});

/** Changes the status of a row as another part of the system would. */
function bringTo(setup: ReconcilerSetup, id: string, status: 'ready' | 'destroying'): void {
  const row = setup.store.rows.get(id);
  if (row) setup.store.rows.set(id, { ...row, status, version: row.version + 1 });
}

describe('what cannot be looked at is not touched', () => {
  test('a provider that cannot be listed keeps its workspaces as they are, others go on', async () => {
    const deaf = new FakeProvider('deaf');
    deaf.list.mockRejectedValue(new EmergentError('provider_failed', 'no engine'));
    const setup = setUpReconciler(deaf);
    addRow(setup, 'ready', { provider: 'deaf' });
    const stuck = addRow(setup, 'stopping', { provider: 'deaf' });
    const lost = addRow(setup, 'ready');
    const stopping = addRow(setup, 'stopping');

    const { blocked } = await setup.reconciler.reconcile(admin, real);

    expect(blocked).toEqual([{ provider: 'deaf', reason: 'no engine' }]);
    expect(setup.upkeep.calls).toEqual([`markLost ${lost}`, `finishStop ${stopping}`]);
    // Kept by this server, which lives, it would never be finished.
    expect(setup.store.operators.has(stuck)).toBe(false);
    expect(setup.store.operators.get(stopping)).toBe(1);
  });

  test('where no provider can be listed, nothing is even taken over', async () => {
    const setup = setUpReconciler();
    setup.provider.list.mockRejectedValue(new Error('no engine'));
    addRow(setup, 'stopping');
    const takeOver = vi.spyOn(setup.store, 'takeOver');
    await setup.reconciler.reconcile(admin, real);
    expect([takeOver.mock.calls, setup.upkeep.calls]).toEqual([[], []]);
  });

  test('a provider that does not answer is given up, and holds no other back', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const other = new FakeProvider('other');
    const setup = setUpReconciler(other);
    const listing = new Gate();
    setup.provider.list.mockImplementation(async () => {
      await listing.pass();
      return [];
    });
    addRow(setup, 'ready');
    const lost = addRow(setup, 'ready', { provider: 'other' });
    const run = setup.reconciler.reconcile(admin, real);
    await listing.reached;
    await vi.advanceTimersByTimeAsync(20_000);
    const reason = 'listing the sandboxes of fake did not finish within 20000 ms';
    expect((await run).blocked).toEqual([{ provider: 'fake', reason }]);
    expect(setup.upkeep.calls).toEqual([`markLost ${lost}`]);
  });

  test.each(['all', 'abandoned', 'takeOver', 'all again', 'known'] as const)(
    'a database that fails at "%s" fails the run: nothing is done and nothing kept',
    async (where) => {
      const setup = setUpReconciler();
      const { store, upkeep, provider, reconciler } = setup;
      addRow(setup, 'ready');
      addRow(setup, 'stopping');
      makeKnown(setup, addSandbox(setup));
      const outage = new EmergentError('store_unavailable', 'no database');
      if (where === 'known') vi.spyOn(store.events, 'known').mockRejectedValue(outage);
      else if (where === 'all again') {
        vi.spyOn(store, 'all').mockResolvedValueOnce([]).mockRejectedValueOnce(outage);
      } else vi.spyOn(store, where).mockRejectedValue(outage);

      await expect(reconciler.reconcile(admin, real)).rejects.toBe(outage);
      expect([upkeep.calls, provider.sweep.mock.calls]).toEqual([[], []]);
      expect([...store.operators]).toEqual([]);
    },
  );

  test('a take-over whose answer was lost is undone', async () => {
    const setup = setUpReconciler();
    const { store } = setup;
    addRow(setup, 'stopping');
    const takeOver = store.takeOver.bind(store);
    vi.spyOn(store, 'takeOver').mockImplementationOnce(async () => {
      await takeOver();
      throw new EmergentError('store_unavailable', 'connection lost');
    });
    await expect(setup.reconciler.reconcile(admin, real)).rejects.toThrow('connection lost');
    expect([...store.operators]).toEqual([]);
  });
});

describe('a world that moves on', () => {
  test('rows, sandboxes, abandoned rows, rows again, the log: in this order', async () => {
    const setup = setUpReconciler();
    const { store, provider } = setup;
    addRow(setup, 'stopping');
    addSandbox(setup);
    const spies = {
      all: vi.spyOn(store, 'all'),
      list: provider.list,
      takeOver: vi.spyOn(store, 'takeOver'),
      known: vi.spyOn(store.events, 'known'),
    };
    await setup.reconciler.reconcile(admin, real);
    const order = Object.entries(spies)
      .flatMap(([name, { mock }]) => mock.invocationCallOrder.map((at) => ({ name, at })))
      .toSorted((a, b) => a.at - b.at);
    expect(order.map(({ name }) => name)).toEqual(['all', 'list', 'takeOver', 'all', 'known']);
  });

  test('a workspace that becomes ready behind the back of a listing is not lost', async () => {
    const setup = setUpReconciler();
    const id = addRow(setup, 'creating');
    setup.store.operators.set(id, 1);
    setup.provider.list.mockImplementation(async () => {
      bringTo(setup, id, 'ready');
      return [];
    });
    expect((await setup.reconciler.reconcile(admin, real)).actions).toEqual([]);
  });

  test('one that is made during a listing has its row when the rows are read', async () => {
    const setup = setUpReconciler();
    setup.provider.list.mockImplementation(async (): Promise<FoundSandbox[]> => {
      const workspaceId = addRow(setup, 'creating');
      setup.store.operators.set(workspaceId, 1);
      const sandboxName = `agent-workspace-${workspaceId}`;
      return [
        {
          ...{ workspaceId, sandboxName, state: 'running', hasFiles: true },
          ...{ createdAt: longAgo, parts: [] },
        },
      ];
    });
    const order = { ...real, includeUnknown: true, minAgeMs: 0 };
    expect((await setup.reconciler.reconcile(admin, order)).actions).toEqual([]);
  });

  test('a sandbox that has a row after all is not removed', async () => {
    const setup = setUpReconciler();
    const id = addSandbox(setup);
    makeKnown(setup, id);
    vi.spyOn(setup.store, 'all').mockResolvedValue([]);
    addRow(setup, 'ready', { id });
    const { actions } = await setup.reconciler.reconcile(admin, real);
    expect(actions).toMatchObject([{ result: 'skipped', reason: 'a workspace owns it' }]);
    expect(setup.upkeep.calls).toEqual([]);
  });

  test('a row whose status changed since the plan is left to whoever changed it', async () => {
    const setup = setUpReconciler();
    const ids = [addRow(setup, 'stopping'), addRow(setup, 'ready')];
    const get = setup.store.get.bind(setup.store);
    vi.spyOn(setup.store, 'get').mockImplementation((id) => {
      bringTo(setup, id, 'destroying');
      return get(id);
    });
    const { actions } = await setup.reconciler.reconcile(admin, real);
    const reason = 'its status has changed meanwhile';
    expect(actions).toMatchObject(ids.map((workspaceId) => ({ workspaceId, reason })));
    expect(setup.upkeep.calls).toEqual([]);
    // A destroy of this same server may work on it: it is not given up under its hands.
    expect([...setup.store.operators]).toEqual([[ids[0], 1]]);
  });

  test('what this server has begun to change since the plan is left alone', async () => {
    const setup = setUpReconciler();
    const id = addRow(setup, 'stopping');
    // Not yet when it is planned, and no longer when the run ends.
    vi.spyOn(setup.upkeep, 'changing')
      .mockReturnValueOnce(new Set())
      .mockReturnValueOnce(new Set([id]));
    const { actions } = await setup.reconciler.reconcile(admin, real);
    expect(actions).toMatchObject([{ result: 'skipped', reason: 'this server is changing it' }]);
    expect([setup.upkeep.calls, [...setup.store.operators]]).toEqual([[], [[id, 1]]]);
  });

  test('a row that cannot be read again is not acted on, and given back', async () => {
    const setup = setUpReconciler();
    addRow(setup, 'stopping');
    vi.spyOn(setup.store, 'get').mockRejectedValue(new Error('no database'));
    const { actions } = await setup.reconciler.reconcile(admin, real);
    expect(actions).toMatchObject([{ result: 'failed', reason: 'no database' }]);
    expect([setup.upkeep.calls, [...setup.store.operators]]).toEqual([[], []]);
  });
});
