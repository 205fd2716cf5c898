import type { Clock } from '../../../base/clock.ts';
import { untilAborted } from '../../../base/until-aborted.ts';

/** Longer than that no timer sleeps at once. */
const longestSleepMs = 2 ** 31 - 1;

const cancelled = new Error('the timeout is no longer needed');

/** Calls `onPassed` once after `ms`, unless disposed; `renew` begins anew, but never beyond `atMostMs` in all. */
export class Timeout implements Disposable {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #last: number;
  readonly #stop = new AbortController();
  #due: number;

  constructor(clock: Clock, ms: number, onPassed: () => void, atMostMs = ms) {
    const now = clock.monotonic();
    this.#clock = clock;
    this.#ms = ms;
    this.#due = now + ms;
    this.#last = now + atMostMs;
    this.#sleep(ms, onPassed);
  }

  renew(): void {
    this.#due = Math.min(this.#clock.monotonic() + this.#ms, this.#last);
  }

  [Symbol.dispose](): void {
    this.#stop.abort(cancelled);
  }

  /** Wakes when it was last due; a renewal meanwhile costs nothing but one more sleep then. */
  #sleep(ms: number, onPassed: () => void): void {
    this.#clock.sleep(Math.min(ms, longestSleepMs), this.#stop.signal).then(
      () => {
        const left = this.#due - this.#clock.monotonic();
        if (this.#stop.signal.aborted) return;
        if (left > 0) this.#sleep(left, onPassed);
        else onPassed();
      },
      () => undefined,
    );
  }
}

/** Waits for `work` no longer than `ms`, and no longer than `signal` lets. */
export async function within<T>(
  clock: Clock,
  ms: number,
  tooLate: Error,
  work: Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const late = new AbortController();
  using _ = new Timeout(clock, ms, () => {
    late.abort(tooLate);
  });
  return await untilAborted(work, AbortSignal.any([signal, late.signal]));
}
