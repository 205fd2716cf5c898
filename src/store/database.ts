/** A value as it is sent: what is not one of these is encoded by hand first, the same for every database. */
export type SqlValue = string | number | boolean | null | readonly string[];

/** A row as the driver hands it over; `row.ts` reads its columns. */
export type Row = Readonly<Record<string, unknown>>;

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
  /** Which database this is: "PGlite 17.5 in /path", "PostgreSQL 15.18". */
  describe(): Promise<string>;
  /** Idempotent. */
  close(): Promise<void>;
}

export interface DatabaseDeadlines {
  readonly connectMs: number;
  readonly queryMs: number;
  readonly closeMs: number;
}

export const defaultDeadlines: DatabaseDeadlines = {
  connectMs: 5_000,
  queryMs: 10_000,
  closeMs: 5_000,
};
