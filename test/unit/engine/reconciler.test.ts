import { describe, expect, test, vi } from 'vitest';
import { EmergentError } from '../../../src/domain/errors.ts';
import { FakeProvider } from './support/fake-provider.ts';
import { addRow, addSandbox, makeKnown, setUpReconciler } from './support/reconciler.ts';
import { admin, alice, Gate } from './support/workspaces.ts';

const real = { dryRun: false };
const dry = { dryRun: true };

describe('reconcile', () => {
  test('does each kind of action, and says so', async () => {
    const setup = setUpReconciler();
    const { reconciler, upkeep, provider, told } = setup;
    const ids = {
      creating: addRow(setup, 'creating'),
      stopping: addRow(setup, 'stopping'),
      resuming: addRow(setup, 'resuming'),
      destroying: addRow(setup, 'destroying'),
      dead: addSandbox(setup, addRow(setup, 'ready')),
      lost: addRow(setup, 'ready'),
      runaway: addSandbox(setup, addRow(setup, 'stopped')),
      unowned: addSandbox(setup),
    };
    addSandbox(setup, addRow(setup, 'ready'));
    provider.stopped.add(`agent-workspace-${ids.dead}`);
    makeKnown(setup, ids.unowned);

    const report = await reconciler.reconcile(admin, real);

    expect(upkeep.calls.toSorted()).toEqual(
      [
        `finishCreate ${ids.creating}`,
        `finishStop ${ids.stopping}`,
        `finishResume ${ids.resuming}`,
        `finishDestroy ${ids.destroying}`,
        `restart ${ids.dead}`,
        `markLost ${ids.lost}`,
        `stopAgain ${ids.runaway}`,
        `removeUnowned ${ids.unowned}`,
      ].toSorted(),
    );
    expect(upkeep.restart.mock.lastCall?.[1]).toContain('exited with code 137');
    expect(upkeep.removeUnowned.mock.lastCall).toMatchObject([
      'fake',
      { workspaceId: ids.unowned, sandboxName: `agent-workspace-${ids.unowned}` },
    ]);
    expect(report).toMatchObject({ dryRun: false, leftovers: [], blocked: [] });
    expect(report.actions.map(({ result }) => result)).toEqual(Array(8).fill('done'));
    expect(told()).toEqual(Array(8).fill('info: reconciled a workspace'));
  });

  test('says nothing where nothing is to be done', async () => {
    const setup = setUpReconciler();
    addSandbox(setup, addRow(setup, 'ready'));
    const report = await setup.reconciler.reconcile(admin, real);
    expect(report).toEqual({ dryRun: false, actions: [], leftovers: [], blocked: [] });
    expect(setup.recorded.lines).toEqual([]);
  });

  test('is for admins only', async () => {
    const { reconciler, provider } = setUpReconciler();
    const asked = reconciler.reconcile(alice, dry);
    await expect(asked).rejects.toMatchObject({ code: 'forbidden' });
    expect(provider.list).not.toHaveBeenCalled();
  });

  test('a dry run says what a real one would do, and takes, does and removes nothing', async () => {
    const setup = setUpReconciler();
    const { reconciler, store, upkeep, provider, recorded } = setup;
    const stopping = addRow(setup, 'stopping');
    const unowned = addSandbox(setup);
    makeKnown(setup, unowned);
    provider.sweep.mockResolvedValue([{ name: 'volume old', why: 'of an older version' }]);

    const takeOver = vi.spyOn(store, 'takeOver');
    const report = await reconciler.reconcile(admin, dry);

    expect(report).toMatchObject({
      dryRun: true,
      actions: [
        { workspaceId: stopping, kind: 'finish_stop', result: null },
        { workspaceId: unowned, kind: 'remove', result: null },
      ],
      leftovers: [{ provider: 'fake', name: 'volume old', why: 'of an older version' }],
    });
    expect(provider.sweep.mock.lastCall?.[0]).toBe(true);
    expect([upkeep.calls, takeOver.mock.calls, recorded.lines]).toEqual([[], [], []]);
  });

  test('a young sandbox without a row is left alone for two minutes, or for as long as asked', async () => {
    const setup = setUpReconciler();
    const { reconciler, provider, clock, upkeep } = setup;
    const id = addSandbox(setup);
    makeKnown(setup, id);
    provider.createdAt.set(`agent-workspace-${id}`, clock.now());
    await clock.advance(119_999);
    await reconciler.reconcile(admin, real);
    await reconciler.reconcile(admin, { ...real, minAgeMs: 120_000 });
    expect(upkeep.calls).toEqual([]);
    await reconciler.reconcile(admin, { ...real, minAgeMs: 119_999 });
    expect(upkeep.calls).toEqual([`removeUnowned ${id}`]);
    await clock.advance(1);
    await reconciler.reconcile(admin, real);
    expect(upkeep.calls).toHaveLength(2);
  });

  test('a sandbox that the log does not know stays, with one warning, until asked otherwise', async () => {
    const setup = setUpReconciler();
    const { reconciler, upkeep, told } = setup;
    const id = addSandbox(setup);
    const kept = { workspaceId: id, kind: 'keep_unknown', result: null };
    for (let i = 0; i < 2; i += 1) {
      expect((await reconciler.reconcile(admin, real)).actions).toMatchObject([kept]);
    }
    expect([upkeep.calls, told()]).toEqual([[], ['warn: found a sandbox of an unknown workspace']]);
    await reconciler.reconcile(admin, { ...real, includeUnknown: true });
    expect(upkeep.calls).toEqual([`removeUnowned ${id}`]);
  });

  test('an action that fails is told and stops no other', async () => {
    const setup = setUpReconciler();
    const { reconciler, upkeep, told } = setup;
    const broken = addRow(setup, 'stopping');
    const fine = addRow(setup, 'resuming');
    upkeep.finishStop.mockRejectedValue(new EmergentError('provider_failed', 'no answer'));
    const { actions } = await reconciler.reconcile(admin, real);
    expect(actions).toMatchObject([
      { workspaceId: broken, result: 'failed', reason: 'no answer' },
      { workspaceId: fine, result: 'done' },
    ]);
    expect(told().toSorted()).toEqual([
      'info: reconciled a workspace',
      'warn: a workspace could not be reconciled',
    ]);
  });

  test('four actions at a time', async () => {
    const setup = setUpReconciler();
    const gates = Array.from({ length: 6 }, () => new Gate());
    const queue = gates.values();
    setup.upkeep.finishStop.mockImplementation(async () => queue.next().value?.pass());
    for (let i = 0; i < 6; i += 1) addRow(setup, 'stopping');
    const run = setup.reconciler.reconcile(admin, real);
    await Promise.all(gates.slice(0, 4).map(({ reached }) => reached));
    await setup.clock.advance(0);
    expect(setup.upkeep.finishStop).toHaveBeenCalledTimes(4);
    for (const gate of gates) gate.open();
    await run;
    expect(setup.upkeep.finishStop).toHaveBeenCalledTimes(6);
  });

  test('every listed provider is swept; a failing one is told once and fails nothing', async () => {
    const other = new FakeProvider('other');
    const deaf = new FakeProvider('deaf');
    const { reconciler, provider, told } = setUpReconciler(other, deaf);
    provider.sweep.mockRejectedValue(new Error('no answer'));
    other.sweep.mockResolvedValue([{ name: 'network n', why: 'unused' }]);
    deaf.list.mockRejectedValue(new Error('no engine'));
    for (let i = 0; i < 2; i += 1) {
      const { leftovers } = await reconciler.reconcile(admin, real);
      expect(leftovers).toEqual([{ provider: 'other', name: 'network n', why: 'unused' }]);
    }
    expect(deaf.sweep).not.toHaveBeenCalled();
    expect(told()).toEqual([
      'warn: the sandboxes of deaf cannot be listed; they are left alone',
      'warn: sweeping fake failed',
      'info: removed a leftover',
      'info: removed a leftover',
    ]);
    provider.sweep.mockResolvedValue([]);
    await reconciler.reconcile(admin, real);
    expect(told()).toContain('info: sweeping fake works again');
  });
});
