/** A value as it is sent: what is not one of these is encoded by hand first, the same for every database. */
export type SqlValue = string | number | boolean | null | readonly string[];

/** A row as the driver hands it over; `row.ts` reads its columns. */
export type Row = Readonly<Record<string, unknown>>;

/** One statement, to be run later and perhaps again. */
export interface Statement {
  readonly sql: string;
  readonly params: readonly SqlValue[];
}

export interface Queryable {
  /** One statement with `$1` parameters. A statement that tells what it changed says `returning`. */
  query(sql: string, params?: readonly SqlValue[]): Promise<readonly Row[]>;
}

export interface Transaction extends Queryable {
  /** Several statements without parameters. */
  script(sql: string): Promise<void>;
}

/**
 * PostgreSQL as this folder sees it: the server over the network, or PGlite in this process. Every call ends
 * in bounded time; a database that cannot answer is a `store_unavailable`.
 */
export interface Database extends Queryable {
  /** Commits when `work` resolves, rolls back when it throws or when `deadlineMs` have passed. */
  transaction<T>(deadlineMs: number, work: (tx: Transaction) => Promise<T>): Promise<T>;
  /**
   * Holds the advisory lock (`namespace`, `number`) until it is disposed of. It is one session's, and goes when
   * that session ends in any way: whoever holds it is alive. The session runs `announce` whenever it has taken the
   * lock, so what others removed while it was lost is there again with it.
   */
  hold(namespace: number, number: number, announce?: Statement): Promise<HeldLock>;
  /** Which database this is: "PGlite 17.5 in /path", "PostgreSQL 15.18". */
  describe(): Promise<string>;
  /** Idempotent. */
  close(): Promise<void>;
}

export interface HeldLock extends AsyncDisposable {
  /**
   * False while the lock's connection is lost, and for a while after it was regained: what cut it may have cut
   * those of others too, and they may not be back yet.
   */
  settled(): boolean;
}

export interface DatabaseDeadlines {
  /** The wait for a free connection. Longer than a query: a long line is no sign of an absent database. */
  readonly turnMs: number;
  readonly connectMs: number;
  readonly queryMs: number;
  readonly closeMs: number;
}

export const defaultDeadlines: DatabaseDeadlines = {
  turnMs: 60_000,
  connectMs: 5_000,
  queryMs: 10_000,
  closeMs: 5_000,
};
