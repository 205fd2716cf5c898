import { afterEach, describe, expect, test, vi } from 'vitest';
import { Reaper } from '../../../src/engine/reaper.ts';
import { FakeClock } from '../../support/clock.ts';
import { recordLog } from '../../support/log.ts';
import { FakeUpkeep } from './support/fake-upkeep.ts';
import { MemoryWorkspaceStore } from './support/memory-store.ts';
import { addRow } from './support/reconciler.ts';
import { Gate } from './support/workspaces.ts';

const hourMs = 3_600_000;
const retentionSeconds = 7 * 24 * 3_600;

interface ReaperSetup {
  readonly reaper: Reaper;
  readonly store: MemoryWorkspaceStore;
  readonly upkeep: FakeUpkeep;
  readonly clock: FakeClock;
  readonly busy: string[];
  readonly told: () => readonly string[];
  readonly addExpired: () => string;
}

function setUp(): ReaperSetup {
  const clock = new FakeClock();
  const store = new MemoryWorkspaceStore({ clock });
  const upkeep = new FakeUpkeep();
  const { log, entries } = recordLog();
  const busy: string[] = [];
  const reaper = new Reaper({
    ...{ store, events: store.events, upkeep, releases: store, clock, log, retentionSeconds },
    busy: () => busy,
  });
  const told = (): readonly string[] => entries().map(({ level, msg }) => `${level}: ${msg}`);
  const addExpired = (): string => addRow({ store }, 'ready', { expiresAt: clock.now() });
  return { reaper, store, upkeep, clock, busy, told, addExpired };
}

afterEach(() => {
  vi.useRealTimers();
});

describe('expired workspaces', () => {
  test('are destroyed as they are found, every 30 seconds', async () => {
    const { reaper, upkeep, clock, told, store, addExpired } = setUp();
    await using _ = reaper;
    const id = addExpired();
    const later = addRow({ store }, 'stopped', {
      expiresAt: new Date(clock.now().getTime() + 30_001),
    });
    addRow({ store }, 'ready');
    reaper.start();
    await clock.advance(29_999);
    expect(upkeep.calls).toEqual([]);
    await clock.advance(1);
    expect(upkeep.calls).toEqual([`finishDestroy ${id}`]);
    expect(upkeep.finishDestroy.mock.lastCall).toMatchObject([
      { id, status: 'destroying' },
      'expired',
      'reaper',
    ]);
    expect(told()).toEqual(['info: destroyed an expired workspace']);
    await clock.advance(30_000);
    expect(upkeep.calls).toEqual([`finishDestroy ${id}`, `finishDestroy ${later}`]);
  });

  test('are left alone while an operation runs in them', async () => {
    const { reaper, upkeep, busy, addExpired } = setUp();
    const id = addExpired();
    busy.push(id);
    await reaper.run();
    expect(upkeep.calls).toEqual([]);
    busy.pop();
    await reaper.run();
    expect(upkeep.calls).toEqual([`finishDestroy ${id}`]);
  });

  test('are claimed eight at a time until none is left, and destroyed four at a time', async () => {
    const { reaper, store, upkeep, clock, addExpired } = setUp();
    const claim = vi.spyOn(store, 'claimExpired');
    const gates = Array.from({ length: 10 }, () => new Gate());
    const queue = gates.values();
    upkeep.finishDestroy.mockImplementation(async () => queue.next().value?.pass());
    for (let i = 0; i < 10; i += 1) addExpired();
    const run = reaper.run();
    await Promise.all(gates.slice(0, 4).map(({ reached }) => reached));
    await clock.advance(0);
    expect(upkeep.finishDestroy).toHaveBeenCalledTimes(4);
    for (const gate of gates) gate.open();
    await run;
    expect(upkeep.finishDestroy).toHaveBeenCalledTimes(10);
    expect(claim.mock.calls.map(([, , limit]) => limit)).toEqual([8, 8, 8]);
  });

  test('one that cannot be destroyed is told, stops no other, and is not claimed again', async () => {
    const { reaper, store, upkeep, told, addExpired } = setUp();
    const [broken, fine] = [addExpired(), addExpired()];
    upkeep.finishDestroy.mockRejectedValueOnce(new Error('no engine'));
    await reaper.run();
    expect(upkeep.calls).toEqual([`finishDestroy ${fine}`]);
    expect(store.rows.get(broken)?.status).toBe('destroying');
    await reaper.run();
    expect(upkeep.finishDestroy).toHaveBeenCalledTimes(2);
    expect(told().toSorted()).toEqual([
      'info: destroyed an expired workspace',
      'warn: an expired workspace could not be destroyed; the reconciler goes on with it',
    ]);
  });

  test('a database that does not answer is told, and asked again at the next turn', async () => {
    const { reaper, store, upkeep, clock, told, addExpired } = setUp();
    await using _ = reaper;
    vi.spyOn(store, 'claimExpired').mockRejectedValueOnce(new Error('no database'));
    const id = addExpired();
    reaper.start();
    await clock.advance(30_000);
    expect(told()).toEqual(['warn: expired workspaces could not be looked for']);
    await clock.advance(30_000);
    expect(upkeep.calls).toEqual([`finishDestroy ${id}`]);
  });

  test('a claim whose answer was lost is given up, but not what is being destroyed', async () => {
    const { reaper, store, upkeep, addExpired } = setUp();
    const claimExpired = store.claimExpired.bind(store);
    vi.spyOn(store, 'claimExpired').mockImplementationOnce(async (...claim) => {
      await claimExpired(...claim);
      throw new Error('connection lost');
    });
    const busy = addRow({ store }, 'destroying', { expiresAt: new Date(0) });
    const stopping = addRow({ store }, 'stopping', { expiresAt: new Date(0) });
    for (const id of [busy, stopping]) store.operators.set(id, 1);
    upkeep.busy.add(busy);
    const id = addExpired();
    await reaper.run();
    expect([...store.operators.keys()]).toEqual([busy, stopping, id]);
    await reaper.run();
    expect([...store.operators.keys()]).toEqual([busy, stopping]);
    store.operators.set(id, 1);
    await reaper.run();
    expect(store.operators.has(id)).toBe(true);
  });

  test('two runs at once are one', async () => {
    const { reaper, store, upkeep, addExpired } = setUp();
    const gate = new Gate();
    upkeep.finishDestroy.mockImplementation(() => gate.pass());
    addExpired();
    const claim = vi.spyOn(store, 'claimExpired');
    const first = reaper.run();
    await gate.reached;
    const second = reaper.run();
    gate.open();
    await Promise.all([first, second]);
    expect(claim).toHaveBeenCalledTimes(2);
    await reaper.run();
    expect(claim).toHaveBeenCalledTimes(3);
  });
});

describe('old events', () => {
  test('are removed once an hour', async () => {
    const { reaper, store, clock, told } = setUp();
    const note = (at: Date): void => {
      const detail = { workspaceId: 'w', owner: 'alice', actor: 'alice', detail: {} };
      store.events.append({ ...detail, type: 'workspace.ready', at });
    };
    const kept = new Date(clock.now().getTime() - retentionSeconds * 1_000);
    note(new Date(kept.getTime() - 1));
    note(kept);
    await reaper.run();
    expect(store.events.events.map(({ at }) => at)).toEqual([kept]);
    expect(told()).toEqual(['info: removed old events']);
    await clock.advance(hourMs - 1);
    await reaper.run();
    expect(store.events.events).toHaveLength(1);
    await clock.advance(1);
    await reaper.run();
    expect(store.events.events).toEqual([]);
  });

  test('a failure is told, and tried again at the next turn', async () => {
    const { reaper, store, told } = setUp();
    const prune = vi.spyOn(store.events, 'prune').mockRejectedValueOnce(new Error('no database'));
    await reaper.run();
    await reaper.run();
    await reaper.run();
    expect(prune).toHaveBeenCalledTimes(2);
    expect(told()).toEqual(['warn: old events could not be removed']);
  });
});

describe('shutdown', () => {
  test('ends what has begun, claims nothing more and gives back the rest', async () => {
    const { reaper, store, upkeep, clock, addExpired } = setUp();
    const gates = Array.from({ length: 4 }, () => new Gate());
    const queue = gates.values();
    upkeep.finishDestroy.mockImplementation(async () => queue.next().value?.pass());
    const ids = Array.from({ length: 10 }, addExpired);
    const claim = vi.spyOn(store, 'claimExpired');
    reaper.start();
    await clock.advance(30_000);
    await Promise.all(gates.map(({ reached }) => reached));
    const closed = vi.fn();
    const closing = reaper[Symbol.asyncDispose]().then(closed);
    await clock.advance(60_000);
    expect(closed).not.toHaveBeenCalled();
    for (const gate of gates) gate.open();
    await closing;
    expect(upkeep.finishDestroy).toHaveBeenCalledTimes(4);
    expect(claim).toHaveBeenCalledTimes(1);
    expect([...store.operators.keys()]).toEqual(ids.slice(0, 4));
    expect(clock.sleeping).toBe(0);
  });

  test('does not wait for ever', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { reaper, upkeep, told, addExpired } = setUp();
    const gate = new Gate();
    upkeep.finishDestroy.mockImplementation(() => gate.pass());
    addExpired();
    const run = reaper.run();
    await gate.reached;
    const closing = reaper[Symbol.asyncDispose]();
    await vi.advanceTimersByTimeAsync(15_000);
    await closing;
    expect(told()).toEqual(['warn: reaping still went on at shutdown']);
    gate.open();
    await run;
  });
});
