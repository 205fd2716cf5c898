import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { Store } from '../../src/domain/store.ts';
import type { Database } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { readMigrations } from '../../src/store/migrations.ts';
import { openStore, storeOver } from '../../src/store/open.ts';
import { openPglite } from '../../src/store/pglite.ts';
import { openPostgres } from '../../src/store/postgres.ts';
import { FakeClock } from '../support/clock.ts';
import { eventually } from '../support/eventually.ts';
import { recordLog } from '../support/log.ts';
import { startPostgres } from '../support/postgres.ts';
import type { PostgresServer } from '../support/postgres.ts';
import { prepareDataDir } from '../support/prepared-data-dir.ts';
import { mcpServer } from './fixtures/mcp-servers.ts';
import { put } from './fixtures/workspaces.ts';

const opened = new AsyncDisposableStack();
let postgres: PostgresServer;
beforeAll(async () => {
  postgres = opened.use(await startPostgres());
});
afterAll(() => opened.disposeAsync());

const { log } = recordLog();
const none = new Map();
const dead = 1_000_000;
const addresses = async (database: Database): Promise<readonly unknown[]> =>
  (await database.query('select url from kb.server_addresses order by number')).map(
    (row) => row['url'],
  );

/** A new database, and how one more server comes onto it. */
interface Subject {
  readonly database: Database;
  another(url?: string): Promise<Store>;
}

const subjects: Readonly<Record<string, () => Promise<Subject>>> = {
  async PGlite() {
    const dataDir = await mkdtemp(join(tmpdir(), 'emergent-addresses-'));
    opened.defer(() => rm(dataDir, { recursive: true, force: true }));
    await prepareDataDir(dataDir);
    const database = await openPglite({ dataDir });
    opened.defer(() => database.close());
    await migrate(database, await readMigrations(), log);
    // There is one session, which is not a server's to close.
    const again = { ...database, close: () => Promise.resolve() };
    return { database, another: (url) => storeOver(again, systemClock, url) };
  },
  async PostgreSQL() {
    const databaseUrl = await postgres.cloneDatabase();
    const database = openPostgres({ url: databaseUrl, log });
    opened.defer(() => database.close());
    const another = (advertiseUrl?: string): Promise<Store> =>
      openStore({ databaseUrl, dataDir: '', log, ...(advertiseUrl && { advertiseUrl }) });
    return { database, another };
  },
};

describe.each(Object.entries(subjects))('the addresses of servers on %s', (_, open) => {
  let subject: Subject;
  beforeAll(async () => {
    subject = await open();
  });

  test('who hosts it is told to the others, by id and by name, where it has an address', async () => {
    await using asks = await subject.another('http://asks');
    await using hosts = await subject.another('http://hosts:1/a');
    await using silent = await subject.another();
    const [one, two] = [
      await put(hosts, { ...mcpServer({ name: 'same' }), owner: 'one' }),
      await put(hosts, { ...mcpServer({ name: 'same' }), owner: 'two' }),
    ];
    await put(silent, { ...mcpServer({ name: 'unreached' }), owner: 'one' });
    const peer = { number: hosts.peers.number, url: 'http://hosts:1/a' };
    expect(await asks.peers.hostsOf(one.id)).toEqual(new Map([[one.id, peer]]));
    const both = new Map([one.id, two.id].map((id) => [id, peer]));
    expect(await asks.peers.hostsOf('same')).toEqual(both);
    expect(await silent.peers.hostsOf('same')).toEqual(both);
    expect(await hosts.peers.hostsOf('same')).toEqual(none);
    expect(await asks.peers.hostsOf('unreached')).toEqual(none);
    expect(await asks.peers.hostsOf('sam_')).toEqual(none);
  });

  test('that of the dead counts for nobody, and goes when the next one comes', async () => {
    const { database } = subject;
    await using asks = await subject.another();
    const leaves = await subject.another('http://leaves');
    const { id } = await put(leaves, mcpServer({ name: 'left' }));
    await database.query('insert into kb.server_addresses values ($1, $2)', [dead, 'http://dead']);
    expect(await addresses(database)).toEqual(['http://leaves', 'http://dead']);
    expect((await asks.peers.hostsOf(id)).size).toBe(1);
    await leaves[Symbol.asyncDispose]();
    expect(await addresses(database)).toEqual(['http://dead']);
    await database.query('update kb.mcp_state set host = $1 where workspace_id = $2', [dead, id]);
    expect(await asks.peers.hostsOf(id)).toEqual(none);
    await using _next = await subject.another('https://next');
    expect(await addresses(database)).toEqual(['https://next']);
  });
});

test('one that was cut off, and swept meanwhile, is there again with its sign of life', async () => {
  const url = await postgres.cloneDatabase();
  const clock = new FakeClock();
  await using database = withDisposal(openPostgres({ url, log }));
  const options = { databaseUrl: url, dataDir: '', log };
  await using cut = await openStore({ ...options, clock, advertiseUrl: 'http://cut' });
  await database.query(
    `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and objid = $1`,
    [cut.peers.number],
  );
  // Before it has connected again.
  await clock.whenSleeping();
  await using _other = await openStore({ ...options, advertiseUrl: 'http://other' });
  await eventually(async () => {
    expect(await addresses(database)).toEqual(['http://other']);
  });
  await eventually(async () => {
    await clock.advance(100);
    expect(await addresses(database)).toEqual(['http://cut', 'http://other']);
  });
});

function withDisposal(database: Database): Database & AsyncDisposable {
  return { ...database, [Symbol.asyncDispose]: () => database.close() };
}
