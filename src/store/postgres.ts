import pg from 'pg';
import { systemClock, type Clock } from '../base/clock.ts';
import { DeadlineError, withDeadline } from '../base/deadline.ts';
import type { Log } from '../base/log.ts';
import { reasonOf } from '../base/reason.ts';
import {
  defaultDeadlines,
  type Database,
  type DatabaseDeadlines,
  type Row,
  type SqlValue,
  type Transaction,
} from './database.ts';
import { databaseFailure, storeUnavailable } from './failure.ts';
import { holdSessionLock } from './session-lock.ts';
import { Turns } from './turns.ts';

export interface PostgresOptions {
  readonly url: string;
  readonly log: Log;
  readonly clock?: Clock;
  readonly deadlines?: DatabaseDeadlines;
}

const connections = 10;

/**
 * A PostgreSQL server through a connection pool. Connects on demand: a server that went away is reported by
 * each call until it is back, and then the next call works.
 */
export function openPostgres({
  url,
  log,
  clock = systemClock,
  deadlines = defaultDeadlines,
}: PostgresOptions): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
    fallback_application_name: 'emergent',
    connectionTimeoutMillis: deadlines.connectMs,
    // The server ends a slow statement itself; the client's own timeout is for a server that is silent, and
    // comes later so that the server's reason wins.
    statement_timeout: deadlines.queryMs,
    query_timeout: deadlines.queryMs + 1_000,
    idle_in_transaction_session_timeout: deadlines.queryMs,
    keepAlive: true,
  });
  // A lost idle connection is emitted here; without a listener it would end the process.
  pool.on('error', (error) => {
    log.warn('lost a database connection', { reason: reasonOf(error) });
  });

  // Callers wait here and not in the pool, whose timeout for a new connection also runs for those that wait for a
  // used one: a burst of calls would look like an absent database.
  const turns = new Turns('the wait for a database connection', connections, deadlines.turnMs);

  let closing: Promise<void> | undefined;
  const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await turns.run(work);
    } catch (error) {
      throw error instanceof DeadlineError ? storeUnavailable(error) : error;
    }
  };
  const query = (sql: string, params: readonly SqlValue[] = []): Promise<readonly Row[]> =>
    inTurn(() => run(pool, sql, params));

  return {
    query,
    transaction: (deadlineMs, work) => inTurn(() => transaction(pool, log, deadlineMs, work)),
    hold: (namespace, number, announce) =>
      holdSessionLock({ url, namespace, number, announce, deadlines, clock, log }),
    async describe() {
      const [row] = await query('show server_version');
      return `PostgreSQL ${String(row?.['server_version']).split(' ', 1).join('')}`;
    },
    close() {
      closing ??= withDeadline('closing the database connections', deadlines.closeMs, () =>
        pool.end(),
      ).catch((error: unknown) => {
        throw storeUnavailable(error);
      });
      return closing;
    },
  };
}

async function run(
  pool: pg.Pool,
  sql: string,
  params: readonly SqlValue[],
): Promise<readonly Row[]> {
  try {
    return (await pool.query<Row>(sql, [...params])).rows;
  } catch (error) {
    throw databaseFailure(error);
  }
}

async function transaction<T>(
  pool: pg.Pool,
  log: Log,
  deadlineMs: number,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  const client = await connect(pool);
  // While checked out, a connection's loss between two statements is emitted on the client itself.
  const onLost = (error: Error): void => {
    log.warn('lost a database connection in a transaction', { reason: reasonOf(error) });
  };
  client.on('error', onLost);
  let committed = false;
  try {
    const result = await withDeadline('the database transaction', deadlineMs, () =>
      runTransaction(client, deadlineMs, work),
    );
    committed = true;
    return result;
  } catch (error) {
    throw error instanceof DeadlineError ? storeUnavailable(error) : error;
  } finally {
    client.removeListener('error', onLost);
    // Dropping the connection rolls back, whatever state it is in.
    client.release(!committed);
  }
}

async function connect(pool: pg.Pool): Promise<pg.PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    throw databaseFailure(error);
  }
}

async function runTransaction<T>(
  client: pg.PoolClient,
  deadlineMs: number,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  const run = async (text: string, values?: readonly SqlValue[]): Promise<readonly Row[]> => {
    // The transaction's deadline replaces the pool's; a script (no values) may hold several statements.
    const config = { text, query_timeout: deadlineMs, ...(values ? { values: [...values] } : {}) };
    try {
      return (await client.query<Row>(config)).rows;
    } catch (error) {
      throw databaseFailure(error);
    }
  };
  const ms = String(deadlineMs);
  // Each statement sees what was committed before it, whatever the role's default is: a count that follows a lock
  // rests on that.
  await run(
    `begin isolation level read committed;
     set local statement_timeout = ${ms}; set local idle_in_transaction_session_timeout = ${ms}`,
  );
  const result = await work({
    query: (sql, params = []) => run(sql, params),
    script: async (sql) => {
      await run(sql);
    },
  });
  await run('commit');
  return result;
}
