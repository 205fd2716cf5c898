import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PGlite, type Transaction as PGliteTransaction } from '@electric-sql/pglite';
import { DeadlineError, withDeadline } from '../base/deadline.ts';
import {
  defaultDeadlines,
  type Database,
  type DatabaseDeadlines,
  type HeldLock,
  type Queryable,
  type Row,
  type SqlValue,
  type Statement,
  type Transaction,
} from './database.ts';
import { lockDirectory, type DirectoryLock } from './directory-lock.ts';
import { databaseFailure, storeUnavailable } from './failure.ts';

export interface PGliteOptions {
  readonly dataDir: string;
  readonly deadlines?: DatabaseDeadlines;
}

/** Making the files takes seconds of processor time, more on a loaded machine. */
const openDeadlineMs = 120_000;

/**
 * PostgreSQL inside this process, kept in `<dataDir>/pglite`. It has one connection: statements run one after
 * another, and a transaction holds off every other statement.
 */
export async function openPglite(options: PGliteOptions): Promise<Database> {
  const { dataDir, deadlines = defaultDeadlines } = options;
  const directory = join(dataDir, 'pglite');
  const lock = await lockDataDir(dataDir);
  try {
    const instance = await withDeadline(`opening ${directory}`, openDeadlineMs, () =>
      open(directory),
    );
    return overInstance(instance, lock, directory, deadlines);
  } catch (error) {
    // After a deadline the opening goes on in the background and may still write: the lock stays with it.
    if (!(error instanceof DeadlineError)) lock.release();
    throw storeUnavailable(
      error,
      `Check that ${directory} is readable, writable and on a disk with free space; ` +
        'if it is damaged, restore it from a backup, or move it away to start empty.',
    );
  }
}

async function lockDataDir(dataDir: string): Promise<DirectoryLock> {
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    return await lockDirectory(dataDir, 'pglite');
  } catch (error) {
    // Whatever is not already explained is the file system's: no permission, no space, no locks.
    throw databaseFailure(error);
  }
}

/**
 * The files are made beside their final place and renamed when complete: PGlite cannot open a directory whose
 * making was interrupted, and a kill during the first start would leave one behind.
 */
async function open(directory: string): Promise<PGlite> {
  if (!existsSync(directory)) {
    const unfinished = `${directory}.unfinished`;
    await rm(unfinished, { recursive: true, force: true });
    await (await PGlite.create({ dataDir: unfinished })).close();
    await rename(unfinished, directory);
  }
  return PGlite.create({ dataDir: directory });
}

function overInstance(
  instance: PGlite,
  lock: DirectoryLock,
  directory: string,
  deadlines: DatabaseDeadlines,
): Database {
  let closing: Promise<void> | undefined;
  const query = (sql: string, params: readonly SqlValue[] = []): Promise<readonly Row[]> =>
    answered('the database query', deadlines.queryMs, () => rowsOf(instance, sql, params));

  return {
    query,
    transaction: (deadlineMs, work) => transaction(instance, deadlineMs, work),
    hold: (namespace, number, announce) => hold({ query }, namespace, number, announce),
    async describe() {
      const [row] = await query('show server_version');
      return `PGlite ${String(row?.['server_version'])} in ${directory}`;
    },
    close() {
      // The lock stays when closing fails: until the process ends it may still write to the directory.
      closing ??= answered('closing the database', deadlines.closeMs, () => instance.close()).then(
        () => {
          lock.release();
        },
      );
      return closing;
    },
  };
}

/** The one session holds it: it is lost only with the process, and then so is everything else. */
async function hold(
  db: Queryable,
  namespace: number,
  number: number,
  announce: Statement | undefined,
): Promise<HeldLock> {
  await db.query('select pg_advisory_lock($1, $2)', [namespace, number]);
  if (announce) await db.query(announce.sql, announce.params);
  return {
    settled: () => true,
    async [Symbol.asyncDispose]() {
      await db.query('select pg_advisory_unlock($1, $2)', [namespace, number]);
    },
  };
}

async function transaction<T>(
  instance: PGlite,
  deadlineMs: number,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  const outcome = { workFailed: false };
  try {
    return await withDeadline('the database transaction', deadlineMs, (signal) =>
      instance.transaction(async (tx) => {
        try {
          const result = await work(overTransaction(tx, signal));
          // Too late is rolled back, not committed behind the caller's back.
          signal.throwIfAborted();
          return result;
        } catch (error) {
          outcome.workFailed = !signal.aborted;
          throw error;
        }
      }),
    );
  } catch (error) {
    throw outcome.workFailed ? error : databaseFailure(error);
  }
}

function overTransaction(tx: PGliteTransaction, signal: AbortSignal): Transaction {
  const step = async <T>(run: () => Promise<T>): Promise<T> => {
    signal.throwIfAborted();
    try {
      return await run();
    } catch (error) {
      throw databaseFailure(error);
    }
  };
  return {
    query: (sql, params = []) => step(() => rowsOf(tx, sql, params)),
    script: async (sql) => {
      await step(() => tx.exec(sql));
    },
  };
}

async function rowsOf(
  target: Pick<PGliteTransaction, 'query'>,
  sql: string,
  params: readonly SqlValue[],
): Promise<readonly Row[]> {
  return (await target.query<Row>(sql, [...params])).rows;
}

async function answered<T>(what: string, ms: number, run: () => Promise<T>): Promise<T> {
  try {
    return await withDeadline(what, ms, run);
  } catch (error) {
    throw databaseFailure(error);
  }
}
