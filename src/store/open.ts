import { systemClock, type Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Store } from '../domain/store.ts';
import type { Database } from './database.ts';
import { eventStore } from './events/store.ts';
import { readInstallation } from './installation.ts';
import { hostsElsewhere } from './mcp/hosts-elsewhere.ts';
import { McpNames } from './mcp/names.ts';
import { mcpStore } from './mcp/store.ts';
import { migrate } from './migrate.ts';
import { readMigrations } from './migrations.ts';
import { openPglite } from './pglite.ts';
import { poolStore } from './pools/store.ts';
import { openPostgres } from './postgres.ts';
import { registerServer } from './server.ts';
import { tokenStore } from './tokens.ts';
import { Admissions } from './workspaces/admission.ts';
import { workspaceStore } from './workspaces/store.ts';

export interface StoreOptions {
  /** A PostgreSQL server; without it PGlite keeps the data in `dataDir`. */
  readonly databaseUrl?: string;
  readonly dataDir: string;
  readonly log: Log;
  /** The time of events, and of the pauses between attempts to connect again. */
  readonly clock?: Clock;
  /** Where the other servers on the database reach this one. */
  readonly advertiseUrl?: string;
}

/** Opens the database, brings its schema up to date and hands out the store; closes it when that fails. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { databaseUrl, dataDir, log, clock = systemClock } = options;
  const database =
    databaseUrl === undefined
      ? await openPglite({ dataDir })
      : openPostgres({ url: databaseUrl, log, clock });
  try {
    await migrate(database, await readMigrations(), log);
    log.info('opened the store', { database: await database.describe() });
    return await storeOver(database, clock, options.advertiseUrl);
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** The store on a database whose schema is up to date, as one more server on it. Disposing of it closes both. */
export async function storeOver(
  database: Database,
  clock: Clock,
  advertiseUrl?: string,
): Promise<Store> {
  const server = await registerServer(database, advertiseUrl);
  const admissions = new Admissions(database);
  const names = new McpNames(database);
  let closing: Promise<void> | undefined;
  return {
    workspaces: workspaceStore(database, admissions, names, server, clock),
    pools: poolStore(database, admissions, server, clock),
    mcp: mcpStore(database, names, server, clock),
    peers: {
      number: server.number,
      hostsOf: (idOrName) => hostsElsewhere(database, server.number, idOrName),
    },
    events: eventStore(database),
    tokens: tokenStore(database),
    installation: () => readInstallation(database),
    describe: () => database.describe(),
    [Symbol.asyncDispose]() {
      closing ??= close(server, database);
      return closing;
    },
  };
}

/** The database last: the lock may be its one session's. */
async function close(server: AsyncDisposable, database: Database): Promise<void> {
  try {
    await server[Symbol.asyncDispose]();
  } finally {
    await database.close();
  }
}
