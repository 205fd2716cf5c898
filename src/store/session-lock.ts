import { Socket } from 'node:net';
import pg from 'pg';
import type { Clock } from '../base/clock.ts';
import { withDeadline } from '../base/deadline.ts';
import type { Log } from '../base/log.ts';
import { reasonOf } from '../base/reason.ts';
import type { DatabaseDeadlines, HeldLock, Statement } from './database.ts';
import { databaseFailure } from './failure.ts';

export interface SessionLockOptions {
  readonly url: string;
  readonly namespace: number;
  readonly number: number;
  readonly announce: Statement | undefined;
  readonly deadlines: DatabaseDeadlines;
  readonly clock: Clock;
  readonly log: Log;
}

/** A connection that fell silent is noticed by the next of these. */
const heartbeatMs = 15_000;
const backOffMs = { first: 100, most: 5_000 };
/** Time for every other server that lost its connection by the same fault to be back. */
const settleMs = 30_000;

/**
 * An advisory lock on a connection of its own, outside the pool, which closes idle ones. When the connection is
 * lost, and the lock with it, another is made and the same lock taken again, until the lock is disposed of.
 */
export async function holdSessionLock(options: SessionLockOptions): Promise<HeldLock> {
  const session = await LockSession.open(options);
  const stop = new AbortController();
  const state: LockState = { regainedAt: undefined };
  const keeping = keep(session, options, state, stop.signal);
  return {
    settled() {
      const { regainedAt } = state;
      if (regainedAt === 'lost') return false;
      return regainedAt === undefined || options.clock.monotonic() - regainedAt >= settleMs;
    },
    async [Symbol.asyncDispose]() {
      stop.abort(new Error('the lock was given back'));
      await keeping;
    },
  };
}

interface LockState {
  /** Undefined: never lost. */
  regainedAt: number | 'lost' | undefined;
}

/** Ends, with the session closed, when `stop` aborts. */
async function keep(
  first: LockSession,
  options: SessionLockOptions,
  state: LockState,
  stop: AbortSignal,
): Promise<void> {
  const { clock, log } = options;
  for (
    let session: LockSession | undefined = first;
    session;
    session = await regain(options, stop)
  ) {
    if (state.regainedAt === 'lost') {
      state.regainedAt = clock.monotonic();
      log.info('this server shows itself alive in the database again');
    }
    const reason = await session.untilLost(clock, stop);
    if (!stop.aborted) {
      state.regainedAt = 'lost';
      log.warn('lost the database connection that shows this server alive; connecting again', {
        reason,
      });
    }
    await session.close();
  }
}

/** Undefined when `stop` aborts first. An outage is logged by its beginning and end, not by every attempt. */
async function regain(
  options: SessionLockOptions,
  stop: AbortSignal,
): Promise<LockSession | undefined> {
  for (let pause = backOffMs.first; ; pause = Math.min(pause * 2, backOffMs.most)) {
    try {
      await options.clock.sleep(pause, stop);
    } catch {
      // The sleep fails only when it is stopped.
      return undefined;
    }
    try {
      return await LockSession.open(options);
    } catch (error) {
      options.log.debug('no connection yet to show this server alive', { reason: reasonOf(error) });
    }
  }
}

class LockSession {
  readonly #socket = new Socket();
  readonly #client: pg.Client;
  readonly #closeMs: number;
  readonly #log: Log;
  readonly #lost = Promise.withResolvers<string>();

  /** Connected and holding the lock. */
  static async open(options: SessionLockOptions): Promise<LockSession> {
    const session = new LockSession(options);
    try {
      await session.#take(options);
      return session;
    } catch (error) {
      await session.close();
      throw databaseFailure(error);
    }
  }

  private constructor({ url, deadlines, log }: SessionLockOptions) {
    this.#closeMs = deadlines.closeMs;
    this.#log = log;
    this.#client = new pg.Client({
      connectionString: url,
      fallback_application_name: 'emergent',
      connectionTimeoutMillis: deadlines.connectMs,
      statement_timeout: deadlines.queryMs,
      query_timeout: deadlines.queryMs + 1_000,
      keepAlive: true,
      stream: () => this.#socket,
    });
    this.#client.on('error', (error) => {
      this.#lost.resolve(reasonOf(error));
    });
    this.#client.on('end', () => {
      this.#lost.resolve('the connection ended');
    });
  }

  async #take({ namespace, number, announce }: SessionLockOptions): Promise<void> {
    await this.#client.connect();
    // Without these the database would keep the lock of a host that lost its power for hours.
    await this.#client.query(
      'set tcp_keepalives_idle = 15; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3',
    );
    // Waits, up to the statement timeout, for an earlier session of this server that the database has not
    // yet found to be dead.
    await this.#client.query('select pg_advisory_lock($1, $2)', [namespace, number]);
    if (announce) await this.#client.query(announce.sql, [...announce.params]);
  }

  /** Why it is lost; or that `stop` aborted. */
  async untilLost(clock: Clock, stop: AbortSignal): Promise<string> {
    const lost = new AbortController();
    const beats = this.#beat(clock, AbortSignal.any([stop, lost.signal]));
    const reason = await Promise.race([this.#lost.promise, beats]);
    lost.abort();
    return reason;
  }

  async #beat(clock: Clock, stop: AbortSignal): Promise<string> {
    try {
      for (;;) {
        await clock.sleep(heartbeatMs, stop);
        await this.#client.query('select 1');
      }
    } catch (error) {
      return reasonOf(error);
    }
  }

  /** By force if need be: a connection to a silent host would never end by itself. */
  async close(): Promise<void> {
    try {
      await withDeadline('closing a connection', this.#closeMs, () => this.#client.end());
    } catch (error) {
      this.#log.debug('a database connection had to be cut', { reason: reasonOf(error) });
    } finally {
      this.#socket.destroy();
    }
  }
}
