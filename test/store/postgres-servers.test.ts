import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Store } from '../../src/domain/store.ts';
import { defaultDeadlines, type Database } from '../../src/store/database.ts';
import { openStore } from '../../src/store/open.ts';
import { openPostgres } from '../../src/store/postgres.ts';
import { touchWorkspace } from '../../src/store/workspaces/touch.ts';
import { FakeClock } from '../support/clock.ts';
import { eventually } from '../support/eventually.ts';
import { recordLog } from '../support/log.ts';
import { startPostgres, type PostgresServer } from '../support/postgres.ts';
import { listenFor } from './fixtures/listener.ts';
import { change, newWorkspace, put } from './fixtures/workspaces.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server[Symbol.asyncDispose]());
afterEach(() => {
  vi.useRealTimers();
});

const back = 'this server shows itself alive in the database again';

/** What only several servers on one PostgreSQL can show. */
describe('several servers on one PostgreSQL', () => {
  const open = (databaseUrl: string, clock = new FakeClock()): Promise<Store> =>
    openStore({ databaseUrl, dataDir: '', log: recordLog().log, clock });
  const openDatabase = (url: string, deadlines = defaultDeadlines): Database & AsyncDisposable => {
    const database = openPostgres({ url, log: recordLog().log, deadlines });
    return { ...database, [Symbol.asyncDispose]: () => database.close() };
  };
  /** Cuts the connection by which a server shows itself alive, as a broken network would. */
  const cut = async (database: Database, operatorOf: string): Promise<void> => {
    const cuts = await database.query(
      `select pg_terminate_backend(pid)
         from pg_locks
        where locktype = 'advisory'
          and database = (select oid from pg_database where datname = current_database())
          and objid = (select operator from kb.agent_workspaces where id = $1)`,
      [operatorOf],
    );
    expect(cuts).toHaveLength(1);
  };

  describe('signs of life', () => {
    test('a server that is closed leaves its work to others', async () => {
      const url = await server.cloneDatabase();
      await using stays = await open(url);
      const leaves = await open(url);
      const row = await put(leaves);
      expect(await stays.workspaces.abandoned()).toEqual([]);
      await leaves[Symbol.asyncDispose]();
      expect(await stays.workspaces.abandoned()).toEqual([row]);
    });

    test('a server whose connection is cut is dead until it is back, as itself', async () => {
      const url = await server.cloneDatabase();
      await using stays = await open(url);
      const clock = new FakeClock();
      const { log, entries } = recordLog();
      await using other = await openStore({ databaseUrl: url, dataDir: '', log, clock });
      await using database = openDatabase(url);
      const row = await put(other);
      await cut(database, row.id);
      await eventually(async () => {
        expect(await stays.workspaces.abandoned()).toEqual([row]);
      });
      // The pause before it connects again.
      await eventually(() => {
        expect(entries().filter(({ level }) => level === 'warn')).toHaveLength(1);
      });
      await clock.whenSleeping();
      await clock.advance(100);
      await eventually(async () => {
        expect(await stays.workspaces.abandoned()).toEqual([]);
      });
      const ready = change(['creating'], 'ready', { own: true });
      expect(await other.workspaces.transition(row.id, ready)).toHaveProperty('id');
    });

    test('who takes over while the other is cut off has the row, also when that is back', async () => {
      const url = await server.cloneDatabase();
      await using stays = await open(url);
      const clock = new FakeClock();
      const { log, entries } = recordLog();
      await using other = await openStore({ databaseUrl: url, dataDir: '', log, clock });
      await using database = openDatabase(url);
      const row = await put(other);
      await cut(database, row.id);
      await eventually(async () => {
        expect(await stays.workspaces.takeOver()).toEqual([row]);
      });
      await eventually(async () => {
        await clock.advance(100);
        expect(entries().map(({ msg }) => msg)).toContain(back);
      });
      const late = change(['creating'], 'ready', { own: true });
      expect(await other.workspaces.transition(row.id, late)).toBeUndefined();
      expect(await stays.workspaces.transition(row.id, late)).toHaveProperty('id');
    });

    test('the database restarts: nobody who lost his own sign of life takes what others do', async () => {
      const url = await server.cloneDatabase();
      const clocks = [new FakeClock(), new FakeClock()] as const;
      const logs = [recordLog(), recordLog()] as const;
      const messages = (which: 0 | 1): readonly string[] => logs[which].entries().map((e) => e.msg);
      const openLogged = (which: 0 | 1): Promise<Store> =>
        openStore({ databaseUrl: url, dataDir: '', log: logs[which].log, clock: clocks[which] });
      await using first = await openLogged(0);
      await using second = await openLogged(1);
      const working = await put(second);
      const released = await put(second, { status: 'destroying' });
      await second.workspaces.release(released.id);
      await server.stop();
      for (const which of [0, 1] as const) {
        await eventually(() => {
          expect(messages(which)).toContainEqual(
            expect.stringContaining('shows this server alive'),
          );
        });
      }
      // Several attempts fail, and are not logged one by one.
      for (let n = 0; n < 3; n += 1) {
        await clocks[0].whenSleeping();
        await clocks[0].advance(1_000);
      }
      await server.start();
      await eventually(async () => {
        await clocks[0].advance(5_000);
        expect(messages(0)).toContain(back);
      });
      const warnings = logs[0].entries().filter(({ msg }) => msg.includes('shows this server'));
      expect(warnings).toHaveLength(1);
      expect(messages(1)).not.toContain(back);
      expect(await first.workspaces.abandoned()).toEqual([released]);
      expect(await first.workspaces.takeOver()).toEqual([released]);
      // After a while who is not back is gone.
      await clocks[0].advance(30_000);
      expect(await first.workspaces.takeOver()).toEqual([working]);
    });

    test('a server that is closed during an outage does not come back', async () => {
      const url = await server.cloneDatabase();
      await using stays = await open(url);
      const clock = new FakeClock();
      const other = await open(url, clock);
      await using database = openDatabase(url);
      const row = await put(other);
      await cut(database, row.id);
      await eventually(async () => {
        expect(await stays.workspaces.abandoned()).toEqual([row]);
      });
      await other[Symbol.asyncDispose]();
      expect(clock.sleeping).toBe(0);
      expect(await stays.workspaces.abandoned()).toEqual([row]);
    });

    test('a connection that falls silent is noticed, and replaced', async () => {
      await using relay = await listenFor(await server.createDatabase());
      const clock = new FakeClock();
      const { log, entries } = recordLog();
      const messages = (): readonly string[] => entries().map(({ msg }) => msg);
      const url = relay.url('postgresql://emergent@host/postgres');
      const database = openPostgres({ url, log, clock });
      await using _closing = { [Symbol.asyncDispose]: () => database.close() };
      await using lock = await database.hold(1, 2);
      expect(lock.settled()).toBe(true);
      relay.fallSilent();
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      await clock.whenSleeping();
      await clock.advance(15_000);
      // The question whether it lives is not answered, and then not the farewell either.
      await vi.advanceTimersByTimeAsync(defaultDeadlines.queryMs + 1_000);
      expect(lock.settled()).toBe(false);
      await vi.advanceTimersByTimeAsync(defaultDeadlines.closeMs);
      vi.useRealTimers();
      await eventually(async () => {
        await clock.advance(5_000);
        expect(messages()).toContain(back);
      });
      await clock.advance(30_000);
      expect(lock.settled()).toBe(true);
    });

    test('a number of one database says nothing about another', async () => {
      const [here, there] = [await server.cloneDatabase(), await server.cloneDatabase()];
      await using stays = await open(here);
      const leaves = await open(here);
      const row = await put(leaves);
      await using _same = await open(there);
      await using _number = await open(there);
      await leaves[Symbol.asyncDispose]();
      expect(await stays.workspaces.abandoned()).toEqual([row]);
    });
  });

  test('1,000 creates at once on each of two servers: as many as the limit, and none fails', async () => {
    const url = await server.cloneDatabase();
    await using first = await open(url);
    await using second = await open(url);
    const answers = await Promise.all(
      [first, second].flatMap(({ workspaces }) =>
        Array.from({ length: 1_000 }, () => workspaces.admit(newWorkspace(), 10)),
      ),
    );
    expect(answers.filter((answer) => 'id' in answer)).toHaveLength(10);
    expect(await first.workspaces.all()).toHaveLength(10);
  });

  test('1,000 queries at once wait for a connection; none takes that for an absent database', async () => {
    await using database = openDatabase(await server.createDatabase());
    const gate = Promise.withResolvers<void>();
    const working = Array.from({ length: 10 }, () => Promise.withResolvers<void>());
    const busy = working.map(({ resolve }) =>
      database.transaction(60_000, async () => {
        resolve();
        await gate.promise;
      }),
    );
    await Promise.all(working.map(({ promise }) => promise));
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const line = Array.from({ length: 1_000 }, () => database.query('select 1'));
    const answered = expect(Promise.all(line)).resolves.toHaveLength(1_000);
    // Longer than making a connection may take, shorter than the wait for one.
    await vi.advanceTimersByTimeAsync(2 * defaultDeadlines.connectMs);
    vi.useRealTimers();
    gate.resolve();
    await Promise.all(busy);
    await answered;
  });

  test('who gets no connection in time is told so, and gives no place away', async () => {
    const deadlines = { ...defaultDeadlines, turnMs: 100 };
    await using database = openDatabase(await server.createDatabase(), deadlines);
    const gate = Promise.withResolvers<void>();
    const busy = Array.from({ length: 10 }, () => database.transaction(60_000, () => gate.promise));
    const late = await Promise.allSettled(busy.map(() => database.query('select 1')));
    for (const each of late) {
      expect(each).toMatchObject({
        reason: {
          code: 'store_unavailable',
          message: expect.stringContaining('the wait for a database connection') as unknown,
        },
      });
    }
    gate.resolve();
    await Promise.all(busy);
    expect(await Promise.all(busy.map(() => database.query('select 1 as a')))).toHaveLength(10);
  });

  test('an event whose transaction is still open holds up those behind it', async () => {
    const url = await server.cloneDatabase();
    await using store = await open(url);
    await using database = openDatabase(url);
    const list = async (): Promise<readonly unknown[]> =>
      (await store.events.list({ after: 0, limit: 10 })).map(({ actor }) => actor);
    const gate = Promise.withResolvers<void>();
    const written = Promise.withResolvers<void>();
    await put(store, { owner: 'first' });
    const unfinished = database.transaction(60_000, async (tx) => {
      await tx.query(
        `insert into kb.workspace_events (at, workspace_id, owner, actor, type, detail)
         values (now(), gen_random_uuid(), 'x', 'second', 'tool.bash', '{}')`,
      );
      written.resolve();
      await gate.promise;
    });
    await written.promise;
    await put(store, { owner: 'third' });
    // However slow the test runs, the second may still come.
    await database.query(
      `update kb.workspace_events set recorded_at = recorded_at + interval '1 hour'`,
    );
    expect(await list()).toEqual(['first']);
    expect(await store.events.newestId()).toBe(1);
    gate.resolve();
    await unfinished;
    expect(await list()).toEqual(['first', 'second', 'third']);
  });

  test('a row that is just being used is not claimed as expired, nor waited for', async () => {
    const url = await server.cloneDatabase();
    await using store = await open(url);
    await using database = openDatabase(url);
    const expiresAt = new Date('2026-01-01Z');
    const { id } = await put(store, { status: 'ready', ttlSeconds: 60, expiresAt });
    const claim = async (): Promise<number> =>
      (await store.workspaces.claimExpired(expiresAt, [], 10)).length;
    await database.transaction(60_000, async (tx) => {
      await touchWorkspace(tx, id, expiresAt);
      expect(await claim()).toBe(0);
    });
    expect(await claim()).toBe(0);
    expect(await store.workspaces.get(id)).toMatchObject({ status: 'ready' });
  });
});
