import { abortReason } from './clock.ts';
import type { Clock } from './clock.ts';

/**
 * Cuts pauses short. Who waits says how many rings it has heard, so that one that comes between looking and
 * waiting is not missed:
 *
 *     const heard = bell.rings;
 *     look();
 *     await bell.ringAfter(heard, everyMs, clock, signal);
 */
export class Bell {
  #rings = 0;
  readonly #waiting = new Set<() => void>();

  get rings(): number {
    return this.#rings;
  }

  /** Wakes all who wait. */
  ring(): void {
    this.#rings += 1;
    for (const wake of this.#waiting) wake();
  }

  /** Resolves when it has rung since, or after `ms`; rejects with the signal's reason when aborted. */
  async ringAfter(heard: number, ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
    if (signal.aborted) throw abortReason(signal);
    if (this.#rings > heard) return;
    const rung = Promise.withResolvers<void>();
    const pause = new AbortController();
    const onAbort = (): void => {
      pause.abort(abortReason(signal));
    };
    signal.addEventListener('abort', onAbort, { once: true });
    this.#waiting.add(rung.resolve);
    try {
      await Promise.race([rung.promise, clock.sleep(ms, pause.signal)]);
    } finally {
      this.#waiting.delete(rung.resolve);
      signal.removeEventListener('abort', onAbort);
      pause.abort(new Error('no longer waited for'));
    }
  }
}
