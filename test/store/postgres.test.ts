import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  defaultDeadlines,
  type Database,
  type DatabaseDeadlines,
} from '../../src/store/database.ts';
import { openStore } from '../../src/store/open.ts';
import { openPostgres } from '../../src/store/postgres.ts';
import { eventually } from '../support/eventually.ts';
import { recordLog, type RecordedLog } from '../support/log.ts';
import { startPostgres, type PostgresServer } from '../support/postgres.ts';
import { listen, listenFor } from './fixtures/listener.ts';
import { put } from './fixtures/workspaces.ts';
import { storeSuite } from './suite.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server[Symbol.asyncDispose]());
afterEach(() => {
  vi.useRealTimers();
});

/** Stops the clock of the client's own deadlines, so that none of them passes on a loaded machine. */
function stopTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
}

storeSuite('PostgreSQL', async () => {
  const url = await server.createDatabase();
  const open = (): Database => openPostgres({ url, log: recordLog().log });
  return { database: open(), again: () => Promise.resolve(open()) };
});

describe('PostgreSQL', () => {
  type Open = Database & AsyncDisposable & Pick<RecordedLog, 'entries'>;
  const open = (url: string, deadlines: Partial<DatabaseDeadlines> = {}): Open => {
    const { log, entries } = recordLog();
    const database = openPostgres({ url, log, deadlines: { ...defaultDeadlines, ...deadlines } });
    return { ...database, entries, [Symbol.asyncDispose]: () => database.close() };
  };
  const unavailable = (reason: string): unknown =>
    expect.objectContaining({
      code: 'store_unavailable',
      message: expect.stringContaining(reason) as unknown,
    });

  test('two servers that start at once on an empty database both work', async () => {
    const options = {
      databaseUrl: await server.createDatabase(),
      dataDir: '',
      log: recordLog().log,
    };
    const [first, second] = await Promise.all([openStore(options), openStore(options)]);
    await using _first = first;
    await using _second = second;
    const row = await put(first);
    expect(await second.workspaces.get(row.id)).toEqual(row);
    expect(await first.describe()).toMatch(/^PostgreSQL \d+\.\d+$/);
  });

  test('a unix socket works too', async () => {
    const databaseUrl = server.socketUrl(await server.createDatabase());
    await using store = await openStore({ databaseUrl, dataDir: '', log: recordLog().log });
    const row = await put(store);
    expect(await store.workspaces.get(row.id)).toEqual(row);
  });

  test('a role that may not create anything runs on a finished schema', async () => {
    const url = await server.cloneDatabase();
    await using owner = open(url);
    await owner.query('create role plain login');
    await owner.query('grant usage on schema kb to plain');
    await owner.query('grant select, insert, update, delete on all tables in schema kb to plain');
    await owner.query('grant usage on all sequences in schema kb to plain');
    const databaseUrl = url.replace('//emergent@', '//plain@');
    await using store = await openStore({ databaseUrl, dataDir: '', log: recordLog().log });
    await put(store);
  });

  test.each([
    ['nobody listens', 'postgresql://user:hunter2@127.0.0.1:1/db', 'ECONNREFUSED'],
    ['no such host', 'postgresql://user:hunter2@host.invalid/db', 'host.invalid'],
    ['not a URL', 'postgresql://user:hunter2@[/db', 'Invalid URL'],
  ])('a database that cannot be opened says why: %s', async (_, databaseUrl, reason) => {
    stopTimers();
    const opening = openStore({ databaseUrl, dataDir: '', log: recordLog().log });
    await expect(opening).rejects.toEqual(unavailable(reason));
    await expect(opening).rejects.not.toThrow('hunter2');
  });

  test('a database that does not exist is named', async () => {
    const databaseUrl = `${await server.createDatabase()}_not`;
    const opening = openStore({ databaseUrl, dataDir: '', log: recordLog().log });
    await expect(opening).rejects.toEqual(unavailable('_not" does not exist'));
  });

  test('the server goes: unavailable with a reason; it comes back: works, no restart', async () => {
    const { log, entries } = recordLog();
    const databaseUrl = await server.cloneDatabase();
    await using store = await openStore({ databaseUrl, dataDir: '', log });
    const row = await put(store);
    await server.stop();
    try {
      await eventually(() => {
        expect(entries().map(({ msg }) => msg)).toContain('lost a database connection');
      });
      await expect(store.workspaces.get(row.id)).rejects.toEqual(unavailable('ECONNREFUSED'));
      await expect(put(store)).rejects.toEqual(unavailable('ECONNREFUSED'));
    } finally {
      await server.start();
    }
    expect(await store.workspaces.get(row.id)).toEqual(row);
  });

  test('a connection cut during a query is unavailable, and the next query works', async () => {
    await using database = open(await server.createDatabase());
    await expect(database.query('select pg_terminate_backend(pg_backend_pid())')).rejects.toEqual(
      unavailable('terminating connection'),
    );
    expect(await database.query('select 1 as a')).toEqual([{ a: 1 }]);
  });

  test('a connection cut between two statements of a transaction fails that transaction', async () => {
    await using database = open(await server.createDatabase());
    const cut = database.transaction(30_000, async (tx) => {
      const [row] = await tx.query('select pg_backend_pid() as pid');
      await database.query('select pg_terminate_backend($1)', [Number(row?.['pid'])]);
      await eventually(() => {
        expect(database.entries()).not.toEqual([]);
      });
      await tx.query('select 1');
    });
    await expect(cut).rejects.toMatchObject({ code: 'store_unavailable' });
    expect(await database.query('select 1 as a')).toEqual([{ a: 1 }]);
  });

  test('a transaction that throws is rolled back with its own error', async () => {
    await using database = open(await server.createDatabase());
    await database.query('create table t (a integer)');
    const fault = new TypeError('a fault of the caller');
    const failing = database.transaction(30_000, async (tx) => {
      await tx.query('insert into t values (1)');
      throw fault;
    });
    await expect(failing).rejects.toBe(fault);
    expect(await database.query('select * from t')).toEqual([]);
  });

  describe('deadlines', () => {
    test('a slow statement is ended by the server', async () => {
      await using database = open(await server.createDatabase(), { queryMs: 500 });
      stopTimers();
      await expect(database.query('select pg_sleep(600)')).rejects.toEqual(
        unavailable('statement timeout'),
      );
    });

    test('a transaction that takes too long is rolled back', async () => {
      await using database = open(await server.createDatabase());
      await database.query('create table t (a integer)');
      const never = Promise.withResolvers<never>().promise;
      const late = database.transaction(300, async (tx) => {
        await tx.query('insert into t values (1)');
        await never;
      });
      await expect(late).rejects.toMatchObject({ code: 'store_unavailable' });
      expect(await database.query('select * from t')).toEqual([]);
    });

    test('a server that accepts and never answers is given up', async () => {
      await using silent = await listen(() => undefined);
      await using database = open(silent.url('postgresql://u@host/db'), { connectMs: 300 });
      await expect(database.query('select 1')).rejects.toEqual(unavailable('timeout'));
    });

    test('a server that falls silent in the middle of a query is given up', async () => {
      const url = await server.createDatabase();
      await using relay = await listenFor(url);
      await using database = open(relay.url(url));
      await database.query('select 1');
      relay.fallSilent();
      stopTimers();
      const givenUp = expect(database.query('select 1')).rejects.toEqual(unavailable('timeout'));
      await vi.advanceTimersByTimeAsync(defaultDeadlines.queryMs + 1_000);
      vi.useRealTimers();
      await givenUp;
      expect(await database.query('select 1 as a')).toEqual([{ a: 1 }]);
    });
  });
});
