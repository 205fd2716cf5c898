import { DeadlineError } from '../../base/deadline.ts';
import { runningStatuses } from '../../domain/workspace.ts';
import type { Database, Transaction } from '../database.ts';
import { storeUnavailable } from '../failure.ts';
import { onlyRow } from '../only-row.ts';
import { integer } from '../row.ts';
import { Turns } from '../turns.ts';

/** Any number that no other one-part advisory lock in the database uses. */
const advisoryLock = '6093113548275098217';
/** One admission, and the wait for those of the other servers. */
const deadlineMs = 30_000;
/** The wait for those of this server. */
const lineMs = 120_000;

/**
 * One admission at a time in the whole installation: of two that count at the same time, both would find the last
 * slot free.
 */
export class Admissions {
  readonly #database: Database;
  /**
   * Admissions would only wait for each other in the database, each keeping a connection from other work: those of
   * one server take turns before they ask for one.
   */
  readonly #turns = new Turns('the wait for admission', 1, lineMs);

  constructor(database: Database) {
    this.#database = database;
  }

  /** The lock lasts until the commit of what `work` wrote: the next one counts it. */
  async run<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    try {
      return await this.#turns.run(() =>
        this.#database.transaction(deadlineMs, async (tx) => {
          await tx.query('select pg_advisory_xact_lock($1::bigint)', [advisoryLock]);
          return work(tx);
        }),
      );
    } catch (error) {
      throw error instanceof DeadlineError ? storeUnavailable(error) : error;
    }
  }
}

/**
 * How many agent workspaces run, other than this one, which needs no second slot if it has one. Race: to be asked
 * under the lock, in a statement of its own: one that took the lock and counted would count in a snapshot from
 * before it had the lock, without the row that the holder before it wrote.
 */
export async function countRunning(tx: Transaction, otherThan: string): Promise<number> {
  const rows = await tx.query(
    `select count(*) as running
       from kb.agent_workspaces
      where container_type = 'agent_workspace' and status = any($1::text[]) and id <> $2`,
    [runningStatuses, otherThan],
  );
  return integer(onlyRow(rows), 'running');
}
