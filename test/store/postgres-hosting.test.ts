import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { untriedMcpState } from '../../src/domain/mcp.ts';
import type { Store } from '../../src/domain/store.ts';
import type { Database } from '../../src/store/database.ts';
import { claimHosting } from '../../src/store/mcp/claim-hosting.ts';
import { McpNames } from '../../src/store/mcp/names.ts';
import { openStore } from '../../src/store/open.ts';
import { openPostgres } from '../../src/store/postgres.ts';
import { FakeClock } from '../support/clock.ts';
import { eventually } from '../support/eventually.ts';
import { recordLog } from '../support/log.ts';
import { startPostgres, type PostgresServer } from '../support/postgres.ts';
import { fullState, mcpServer, newMcpServer } from './fixtures/mcp-servers.ts';
import { noLimit, put } from './fixtures/workspaces.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server[Symbol.asyncDispose]());

const none = new Set();

/** What only sessions that overlap, or are cut, can show. */
describe('hosting on PostgreSQL', () => {
  const open = (databaseUrl: string, clock = new FakeClock()): Promise<Store> =>
    openStore({ databaseUrl, dataDir: '', log: recordLog().log, clock });
  const openDatabase = (url: string): Database & AsyncDisposable => {
    const database = openPostgres({ url, log: recordLog().log });
    return { ...database, [Symbol.asyncDispose]: () => database.close() };
  };
  /** Cuts the connection by which the host of a server shows itself alive. */
  const cutHostOf = async (database: Database, id: string): Promise<void> => {
    const cuts = await database.query(
      `select pg_terminate_backend(pid)
         from pg_locks
        where locktype = 'advisory'
          and database = (select oid from pg_database where datname = current_database())
          and objid = (select host from kb.mcp_state where workspace_id = $1)`,
      [id],
    );
    expect(cuts).toHaveLength(1);
  };
  /** Somebody waits for a lock in this database. */
  const waiting = (database: Database): Promise<void> =>
    eventually(async () => {
      const rows = await database.query(
        `select 1
           from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`,
      );
      expect(rows).not.toEqual([]);
    });

  test('who takes a program over while its host is cut off has it, also when that is back', async () => {
    const url = await server.cloneDatabase();
    const clock = new FakeClock();
    await using stays = await open(url);
    const { log, entries } = recordLog();
    await using other = await openStore({ databaseUrl: url, dataDir: '', log, clock });
    await using database = openDatabase(url);
    const { id } = await put(other, mcpServer());
    await other.mcp.saveState(id, fullState);
    await cutHostOf(database, id);
    await eventually(async () => {
      expect(await stays.mcp.claimHosting([id])).toEqual(new Set([id]));
    });
    await eventually(async () => {
      await clock.advance(100);
      expect(entries().map(({ msg }) => msg)).toContain(
        'this server shows itself alive in the database again',
      );
    });
    expect(await other.mcp.saveState(id, untriedMcpState)).toBe(false);
    await other.mcp.releaseHosting([id]);
    expect(await other.mcp.claimHosting([id])).toEqual(none);
    expect(await other.mcp.hostedElsewhere([id])).toEqual(new Set([id]));
    expect(await stays.mcp.states()).toEqual(new Map([[id, fullState]]));
  });

  test('who was just cut off takes only what was released', async () => {
    const url = await server.cloneDatabase();
    await using store = await open(url);
    await using database = openDatabase(url);
    const left = await put(store, mcpServer({ name: 'left' }));
    const released = await put(store, mcpServer({ name: 'released' }));
    const ids = [left.id, released.id];
    const dead = 1_000_000;
    await database.query('update kb.mcp_state set host = $2 where workspace_id = $1', [
      left.id,
      dead,
    ]);
    await store.mcp.releaseHosting([released.id]);
    const claim = (settled: boolean): Promise<ReadonlySet<string>> =>
      claimHosting(database, { number: 7, settled: () => settled, ...disposable }, ids);
    expect(await claim(false)).toEqual(new Set([released.id]));
    expect(await claim(true)).toEqual(new Set(ids));
  });

  test('one that is just being removed is passed over', async () => {
    const url = await server.cloneDatabase();
    await using store = await open(url);
    await using database = openDatabase(url);
    const { id } = await put(store, mcpServer({ name: 'going' }));
    const stays = await put(store, mcpServer({ name: 'staying' }));
    await store.mcp.releaseHosting([id, stays.id]);
    let claim: Promise<ReadonlySet<string>> | undefined;
    await database.transaction(60_000, async (tx) => {
      await tx.query('delete from kb.agent_workspaces where id = $1', [id]);
      claim = store.mcp.claimHosting([id, stays.id]);
      await waiting(database);
    });
    expect(await claim).toEqual(new Set([stays.id]));
  });

  test.each([
    ['released', null],
    ['left by the dead', 1_000_000],
  ])('a second claim waits for the first, and finds its server alive: %s', async (_, host) => {
    const url = await server.cloneDatabase();
    await using store = await open(url);
    await using other = await open(url);
    await using database = openDatabase(url);
    const { id } = await put(store, mcpServer());
    await database.query('update kb.mcp_state set host = $1', [host]);
    const [row] = await database.query('select operator from kb.agent_workspaces');
    const first = { number: Number(row?.['operator']), settled: () => true, ...disposable };
    let second: Promise<ReadonlySet<string>> | undefined;
    await database.transaction(60_000, async (tx) => {
      expect(await claimHosting(tx, first, [id])).toEqual(new Set([id]));
      second = other.mcp.claimHosting([id]);
      await waiting(database);
    });
    expect(await second).toEqual(none);
    expect(await store.mcp.claimHosting([id])).toEqual(new Set([id]));
  });

  test('names are given out one at a time, and workspaces need none', async () => {
    const url = await server.cloneDatabase();
    await using store = await open(url);
    await using database = openDatabase(url);
    let admission: Promise<unknown> | undefined;
    await new McpNames(database).run(async () => {
      admission = store.workspaces.admit(newMcpServer(), noLimit);
      await waiting(database);
      await put(store);
      expect(await store.mcp.servers()).toEqual([]);
    });
    expect(await admission).toHaveProperty('id');
  });
});

const disposable = { [Symbol.asyncDispose]: () => Promise.resolve() };
