import type { Clock } from '../../base/clock.ts';
import type { Caller } from '../../domain/caller.ts';
import type { Engine } from '../../engine/engine.ts';
import type { ProgressTeller } from './progress.ts';

/** What a tool works with, besides its arguments. */
export interface Call {
  readonly engine: Engine;
  readonly caller: Caller;
  readonly clock: Clock;
  /** Aborts when the client cancels the call or goes away: what it has begun ends then. */
  readonly signal: AbortSignal;
  /** Absent: nobody asked for it. */
  readonly progress: ProgressTeller | undefined;
}
