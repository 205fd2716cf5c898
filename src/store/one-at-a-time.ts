import { DeadlineError } from '../base/deadline.ts';
import type { Database, Transaction } from './database.ts';
import { storeUnavailable } from './failure.ts';
import { Turns } from './turns.ts';

/** One piece of work, and the wait for those of the other servers. */
const deadlineMs = 30_000;
/** The wait for those of this server. */
const lineMs = 120_000;

/** Transactions of which only one runs at a time, of all servers on the database. */
export class OneAtATime {
  readonly advisoryLock: string;
  readonly #database: Database;
  /**
   * Those of one server would only wait for each other in the database, each keeping a connection from other work:
   * they take turns before they ask for one.
   */
  readonly #turns: Turns;

  /** `advisoryLock`: any number that no other one-part advisory lock in the database uses. */
  constructor(database: Database, what: string, advisoryLock: string) {
    this.#database = database;
    this.advisoryLock = advisoryLock;
    this.#turns = new Turns(`the wait for ${what}`, 1, lineMs);
  }

  /** The lock lasts until the commit of what `work` wrote: the next one sees it. */
  run<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.inTurn(() =>
      this.#database.transaction(deadlineMs, async (tx) => {
        await tx.query('select pg_advisory_xact_lock($1::bigint)', [this.advisoryLock]);
        return work(tx);
      }),
    );
  }

  /** For a statement that takes the lock itself. */
  async inTurn<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await this.#turns.run(work);
    } catch (error) {
      throw error instanceof DeadlineError ? storeUnavailable(error) : error;
    }
  }
}
