import type { Clock } from '../../base/clock.ts';
import { Failure } from '../failure.ts';

/** How long a server may be away before we give up on it. */
const patienceMs = 60_000;
const firstPauseMs = 250;
const longestPauseMs = 2_000;

/** Failures behind which the same request may succeed later: the way to the server, or what it needs, is down. */
const passing = new Set([
  'connection_lost',
  'unreachable',
  'no_answer',
  'shutting_down',
  'store_unavailable',
  'sandbox_unreachable',
]);

export interface ReconnectOptions {
  readonly clock: Clock;
  /** Aborting ends the waiting between two attempts. */
  readonly signal: AbortSignal;
  /** Tells the user what is going on. */
  readonly tell: (text: string) => void;
}

/**
 * The events of one stream after the other: when one breaks, `open` is asked for what comes behind the last event
 * that was taken. Each opening resolves when the server has accepted it, however long its first event takes. A
 * server that was never `reached` is not waited for: its address may be wrong.
 */
export async function* reconnecting<T>(
  open: () => Promise<AsyncIterable<T>>,
  { clock, signal, tell }: ReconnectOptions,
  reached = false,
): AsyncGenerator<T> {
  let known = reached;
  let lostAt: number | undefined;
  let pauseMs = firstPauseMs;
  for (;;) {
    try {
      const stream = await open();
      known = true;
      if (lostAt !== undefined) tell('connected again');
      lostAt = undefined;
      for await (const event of stream) {
        pauseMs = firstPauseMs;
        yield event;
      }
      return;
    } catch (error) {
      if (!known || !isPassing(error)) throw error;
      if (lostAt !== undefined && clock.monotonic() - lostAt >= patienceMs) throw error;
      if (lostAt === undefined) tell(`${error.message}; connecting again`);
      lostAt ??= clock.monotonic();
    }
    await clock.sleep(pauseMs, signal);
    pauseMs = Math.min(2 * pauseMs, longestPauseMs);
  }
}

export function isPassing(error: unknown): error is Failure {
  return error instanceof Failure && passing.has(error.code);
}
