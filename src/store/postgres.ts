import pg from 'pg';
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

export interface PostgresOptions {
  readonly url: string;
  readonly log: Log;
  readonly deadlines?: DatabaseDeadlines;
}

/**
 * A PostgreSQL server through a connection pool. Connects on demand: a server that went away is reported by
 * each call until it is back, and then the next call works.
 */
export function openPostgres({
  url,
  log,
  deadlines = defaultDeadlines,
}: PostgresOptions): Database {
  const pool = new pg.Pool({
    connectionString: url,
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

  let closing: Promise<void> | undefined;
  const query = async (sql: string, params: readonly SqlValue[] = []): Promise<readonly Row[]> => {
    try {
      return (await pool.query<Row>(sql, [...params])).rows;
    } catch (error) {
      throw databaseFailure(error);
    }
  };

  return {
    query,
    transaction: (deadlineMs, work) => transaction(pool, log, deadlineMs, work),
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
  await run(
    `begin; set local statement_timeout = ${ms}; set local idle_in_transaction_session_timeout = ${ms}`,
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
