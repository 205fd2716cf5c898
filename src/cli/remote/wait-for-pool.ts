import type { Clock } from '../../base/clock.ts';
import { Failure } from '../failure.ts';
import type { WarmPool, WarmPoolReport } from '../http/api-types.ts';
import { isPassing } from './reconnect.ts';

export interface PoolWait {
  readonly read: (signal: AbortSignal) => Promise<WarmPoolReport>;
  /** Tells the user how far it is. */
  readonly tell: (text: string) => void;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const everyMs = 500;

/** The server looks at its pools every ten seconds: what blocks one for longer does not pass by itself soon. */
const blockedMs = 15_000;

/**
 * Resolves with the report in which the pool has reached `size`. A pool that stays blocked, or is not there in time,
 * is a Failure with the reason. A server that goes away, as for a restart, is waited for as long as there is time.
 */
export async function waitForPool(
  name: string,
  size: number,
  { read, tell, timeoutMs, clock, signal }: PoolWait,
): Promise<WarmPoolReport> {
  const began = clock.monotonic();
  let blockedAt: number | undefined;
  let last = 'nothing is known of it yet';
  for (;;) {
    const report = await attempt(() => read(signal));
    const now = clock.monotonic();
    if (report instanceof Failure) {
      last = report.message;
    } else {
      const pool = report.pools.find((one) => one.name === name);
      if (pool?.size !== size) throw changedMeanwhile(name, pool);
      if (hasConverged(pool)) return report;
      blockedAt = pool.state === 'blocked' ? (blockedAt ?? now) : undefined;
      last = described(pool);
      if (blockedAt !== undefined && now - blockedAt >= blockedMs) throw blocked(pool);
    }
    tell(`pool ${name}: ${last}`);
    if (now - began >= timeoutMs) throw late(name, timeoutMs, last);
    await clock.sleep(everyMs, signal);
  }
}

/** What is too much is gone as well then. */
function hasConverged({ size, ready, creating, state }: WarmPool): boolean {
  return ready === size && creating === 0 && (state === 'ready' || state === 'off');
}

async function attempt(read: () => Promise<WarmPoolReport>): Promise<WarmPoolReport | Failure> {
  try {
    return await read();
  } catch (error) {
    if (isPassing(error)) return error;
    throw error;
  }
}

function described({ size, ready, creating, state, reason }: WarmPool): string {
  const counts = `${String(ready)} of ${String(size)} ready, ${String(creating)} being made`;
  return reason === null ? `${counts} (${state})` : `${counts} (${state}: ${reason})`;
}

function blocked({ name, reason }: WarmPool): Failure {
  return new Failure(
    'pool_blocked',
    `pool ${name} cannot be filled: ${reason ?? 'no reason given'}`,
    {
      hint: 'The size is set, and the server keeps trying; `emergent providers` says what is wrong.',
    },
  );
}

function changedMeanwhile(name: string, pool: WarmPool | undefined): Failure {
  const what = pool ? `has been resized to ${String(pool.size)}` : 'is gone';
  return new Failure('pool_changed', `pool ${name} ${what} by somebody else meanwhile`, {
    hint: '`emergent pool` shows what there is.',
  });
}

function late(name: string, timeoutMs: number, last: string): Failure {
  const seconds = String(timeoutMs / 1000);
  return new Failure(
    'pool_not_converged',
    `pool ${name} is not there after ${seconds} s: ${last}`,
    {
      hint: 'The size is set, and the server keeps trying; `emergent pool` shows how far it is.',
    },
  );
}
