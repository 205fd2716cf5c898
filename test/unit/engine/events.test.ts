import { describe, expect, test, vi } from 'vitest';
import { EmergentError } from '../../../src/domain/errors.ts';
import type { EventQuery, WorkspaceEvent } from '../../../src/domain/events.ts';
import { Events } from '../../../src/engine/events.ts';
import { FakeClock } from '../../support/clock.ts';
import { recordLog } from '../../support/log.ts';
import { MemoryEventStore } from './support/memory-events.ts';
import { admin, alice, bob, Gate } from './support/workspaces.ts';

interface EventsSetup {
  readonly events: Events;
  readonly store: MemoryEventStore;
  readonly clock: FakeClock;
  readonly told: () => readonly string[];
  /** Writes so many events, as another server would. */
  readonly write: (count?: number, event?: Partial<WorkspaceEvent>) => void;
}

function setUp(): EventsSetup {
  const store = new MemoryEventStore(() => undefined);
  const clock = new FakeClock();
  const { log, entries } = recordLog();
  const write = (count = 1, event: Partial<WorkspaceEvent> = {}): void => {
    for (let i = 0; i < count; i += 1) {
      store.append({
        ...{ at: clock.now(), workspaceId: 'w', owner: 'alice', actor: 'alice', detail: {} },
        type: 'workspace.ready',
        ...event,
      });
    }
  };
  const told = (): readonly string[] => entries().map(({ level, msg }) => `${level}: ${msg}`);
  return { events: new Events({ store, clock, log }), store, clock, told, write };
}

/** Somebody who reads all that comes, until aborted. */
class Reader {
  readonly ids: number[] = [];
  readonly abort = new AbortController();
  readonly ended: Promise<void>;

  constructor(events: Events, query: Omit<EventQuery, 'limit'> = {}, caller = admin) {
    this.ended = this.#read(events.follow(caller, query, this.abort.signal));
  }

  async #read(following: AsyncIterable<WorkspaceEvent>): Promise<void> {
    for await (const { id } of following) this.ids.push(id);
  }

  async stop(): Promise<readonly number[]> {
    this.abort.abort();
    await this.ended;
    return this.ids;
  }
}

function upTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

describe('list', () => {
  test('an agent sees the events of its own workspaces, an admin all', async () => {
    const { events, write } = setUp();
    write(1, { owner: 'alice' });
    write(1, { owner: 'bob' });
    const idsFor = async (caller: typeof admin): Promise<readonly number[]> =>
      (await events.list(caller, { limit: 10 })).map(({ id }) => id);
    expect(await idsFor(admin)).toEqual([2, 1]);
    expect(await idsFor(alice)).toEqual([1]);
    expect(await idsFor(bob)).toEqual([2]);
  });

  test('the owner is no choice of the caller', async () => {
    const { events, write } = setUp();
    write(1, { owner: 'bob' });
    const query: EventQuery = { owner: 'bob', limit: 10 };
    expect(await events.list(alice, query)).toEqual([]);
  });

  test('the rest of the query is passed on', async () => {
    const { events, write } = setUp();
    write(3);
    write(1, { type: 'workspace.stopped' });
    const query = { after: 1, types: ['workspace.ready' as const], workspaceId: 'w', limit: 1 };
    expect((await events.list(alice, query)).map(({ id }) => id)).toEqual([2]);
  });
});

describe('follow', () => {
  test('begins with the call, and gives what comes, in order, without loss or duplicates', async () => {
    const { events, clock, write } = setUp();
    write(5);
    const reader = new Reader(events);
    write(3);
    await clock.whenSleeping();
    write(2);
    await clock.advance(500);
    write(450);
    await clock.advance(500);
    expect(await reader.stop()).toEqual(upTo(460).slice(5));
  });

  test('begins after a given place, many pages back', async () => {
    const { events, clock, write } = setUp();
    write(1_000);
    const reader = new Reader(events, { after: 0 });
    await clock.whenSleeping();
    expect(await reader.stop()).toEqual(upTo(1_000));
  });

  test('gives an agent what is its own, and only what was asked for', async () => {
    const { events, clock, write } = setUp();
    write(1, { owner: 'bob' });
    write(1, { owner: 'alice', type: 'workspace.stopped' });
    write(1, { owner: 'alice', workspaceId: 'x' });
    write(1, { owner: 'alice' });
    const types = ['workspace.ready'] as const;
    const reader = new Reader(events, { after: 0, workspaceId: 'w', types, owner: 'bob' }, alice);
    await clock.whenSleeping();
    expect(await reader.stop()).toEqual([4]);
  });

  test('looks every half second, and at once when this server has written', async () => {
    const { events, clock, write } = setUp();
    const reader = new Reader(events);
    await clock.whenSleeping();
    write();
    await clock.advance(499);
    expect(reader.ids).toEqual([]);
    await clock.advance(1);
    expect(reader.ids).toEqual([1]);
    write();
    events.wake();
    await clock.advance(0);
    expect(reader.ids).toEqual([1, 2]);
    await reader.stop();
  });

  test('an event written while it looks is not left to the next half second', async () => {
    const { events, store, clock, write } = setUp();
    const looking = new Gate();
    vi.spyOn(store, 'list').mockImplementationOnce(async () => {
      await looking.pass();
      return [];
    });
    const reader = new Reader(events, { after: 0 });
    await looking.reached;
    write();
    events.wake();
    looking.open();
    await clock.advance(0);
    expect(await reader.stop()).toEqual([1]);
  });

  test('a slow reader holds back nobody, and nothing is kept for it', async () => {
    const { events, store, clock, write } = setUp();
    const list = vi.spyOn(store, 'list');
    const abort = new AbortController();
    const following = events.follow(admin, { after: 0 }, abort.signal);
    const slow = following[Symbol.asyncIterator]();
    write(1);
    expect((await slow.next()).value).toMatchObject({ id: 1 });
    const asked = list.mock.calls.length;
    const reader = new Reader(events, { after: 0 });
    write(999);
    await clock.advance(500);
    expect(await reader.stop()).toEqual(upTo(1_000));
    expect(list.mock.calls.filter(([query]) => query.after === 1)).toEqual([]);
    expect(asked).toBe(1);
    expect((await slow.next()).value).toMatchObject({ id: 2 });
    abort.abort();
    expect(await slow.next()).toEqual({ done: true, value: undefined });
  });

  test.each(['list', 'newestId'] as const)(
    'an outage of the store at "%s" delays it, is told once, and loses nothing',
    async (where) => {
      const { events, store, clock, write, told } = setUp();
      const outage = new EmergentError('store_unavailable', 'no database');
      const reading = vi.spyOn(store, where).mockRejectedValue(outage);
      const readers = [new Reader(events), new Reader(events)];
      await clock.advance(60_000);
      reading.mockRestore();
      await clock.advance(500);
      write(3);
      await clock.advance(500);
      for (const reader of readers) expect(await reader.stop()).toEqual([1, 2, 3]);
      expect(told()).toEqual([
        'warn: events cannot be read; followers wait',
        'info: events can be read again',
      ]);
    },
  );

  test('what is no outage ends it with the error', async () => {
    const { events, store } = setUp();
    const error = new EmergentError('invalid_value', 'no such type');
    vi.spyOn(store, 'list').mockRejectedValue(error);
    await expect(new Reader(events).ended).rejects.toBe(error);
  });

  test('an abort ends it at once: in a pause, in a read, in an outage, before it began', async () => {
    const { events, store, clock } = setUp();
    const pausing = new Reader(events);
    await clock.whenSleeping();
    expect(await pausing.stop()).toEqual([]);

    const list = vi.spyOn(store, 'list');
    const hanging = new Gate();
    list.mockImplementationOnce(async () => {
      await hanging.pass();
      return [];
    });
    const reading = new Reader(events);
    await hanging.reached;
    expect(await reading.stop()).toEqual([]);

    list.mockRejectedValueOnce(new EmergentError('store_unavailable', 'no database'));
    const waiting = new Reader(events);
    await clock.whenSleeping();
    expect(await waiting.stop()).toEqual([]);

    const none = events.follow(admin, {}, AbortSignal.abort());
    expect(await none[Symbol.asyncIterator]().next()).toEqual({ done: true, value: undefined });
    expect(clock.sleeping).toBe(0);
  });

  test('one that is never read leaves nothing behind, not even a failure', async () => {
    const { events, store, clock } = setUp();
    vi.spyOn(store, 'newestId').mockRejectedValue(new Error('no such table'));
    events.follow(admin, {}, new AbortController().signal);
    await clock.advance(1_000);
    expect(clock.sleeping).toBe(0);
  });

  test('all end with the server', async () => {
    const { events, clock } = setUp();
    const readers = [new Reader(events), new Reader(events)];
    await clock.whenSleeping(2);
    events[Symbol.dispose]();
    await Promise.all(readers.map(({ ended }) => ended));
    await new Reader(events).ended;
    expect(clock.sleeping).toBe(0);
  });
});
