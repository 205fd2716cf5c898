import type { Clock } from '../../base/clock.ts';

const firstPauseMs = 1_000;
const longestPauseMs = 60_000;

/** Pauses after failures, each twice the one before; a success ends them. */
export class BackOff {
  readonly #clock: Pick<Clock, 'monotonic'>;
  #failures = 0;
  #until = 0;
  /** Why the last attempt failed; null since one succeeded. */
  reason: string | null = null;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** How long nothing should be tried any more; 0: something may be. */
  get leftMs(): number {
    return Math.max(0, this.#until - this.#clock.monotonic());
  }

  failed(reason: string): void {
    const pauseMs = Math.min(firstPauseMs * 2 ** this.#failures, longestPauseMs);
    this.#failures += 1;
    this.#until = this.#clock.monotonic() + pauseMs;
    this.reason = reason;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#until = 0;
    this.reason = null;
  }

  /** Things have changed: it is worth a try. */
  tryNow(): void {
    this.#failures = 0;
    this.#until = 0;
  }
}
