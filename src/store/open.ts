import type { Log } from '../base/log.ts';
import type { Store } from '../domain/store.ts';
import type { Database } from './database.ts';
import { readInstallation } from './installation.ts';
import { migrate } from './migrate.ts';
import { readMigrations } from './migrations.ts';
import { openPglite } from './pglite.ts';
import { openPostgres } from './postgres.ts';
import { tokenStore } from './tokens.ts';
import { workspaceStore } from './workspaces/store.ts';

export interface StoreOptions {
  /** A PostgreSQL server; without it PGlite keeps the data in `dataDir`. */
  readonly databaseUrl?: string;
  readonly dataDir: string;
  readonly log: Log;
}

/** Opens the database, brings its schema up to date and hands out the store; closes it when that fails. */
export async function openStore({ databaseUrl, dataDir, log }: StoreOptions): Promise<Store> {
  const database =
    databaseUrl === undefined
      ? await openPglite({ dataDir })
      : openPostgres({ url: databaseUrl, log });
  try {
    await migrate(database, await readMigrations(), log);
    log.info('opened the store', { database: await database.describe() });
    return storeOver(database);
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** The store on a database whose schema is up to date. */
export function storeOver(database: Database): Store {
  return {
    workspaces: workspaceStore(database),
    tokens: tokenStore(database),
    installation: () => readInstallation(database),
    describe: () => database.describe(),
    [Symbol.asyncDispose]: () => database.close(),
  };
}
