import type { Clock } from '../../base/clock.ts';
import { EmergentError } from '../../domain/errors.ts';

export interface PatienceLimits {
  /** The longest wait for one thing. */
  readonly stallMs: number;
  /** The longest time for all of them; unbounded when left out. */
  readonly totalMs?: number;
}

/**
 * Waits for one thing after the other, within limits. One timer serves all of them: a timer for each of the
 * thousands of chunks of a large file would cost more than the chunks.
 */
export class Patience implements Disposable {
  readonly #limits: PatienceLimits;
  readonly #clock: Clock;
  readonly #startedAt: number;
  readonly #done = new AbortController();
  #waitingSince: number | undefined;
  #giveUp: (error: Error) => void = () => undefined;

  constructor(limits: PatienceLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
    this.#startedAt = clock.monotonic();
    void this.#watch();
  }

  async until<T>(thing: Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#giveUp = reject;
    this.#waitingSince = this.#clock.monotonic();
    thing.then(resolve, reject);
    try {
      return await promise;
    } finally {
      this.#waitingSince = undefined;
    }
  }

  [Symbol.dispose](): void {
    this.#done.abort();
  }

  async #watch(): Promise<void> {
    try {
      for (;;) {
        const left = this.#left();
        if (left <= 0 && this.#waitingSince !== undefined) this.#giveUp(tooSlow());
        await this.#clock.sleep(left > 0 ? left : this.#limits.stallMs, this.#done.signal);
      }
    } catch {
      // Disposed of: nobody waits any more.
    }
  }

  #left(): number {
    const now = this.#clock.monotonic();
    const stall = (this.#waitingSince ?? now) + this.#limits.stallMs - now;
    const total = this.#startedAt + (this.#limits.totalMs ?? Infinity) - now;
    return Math.min(stall, total);
  }
}

function tooSlow(): EmergentError {
  return new EmergentError('malformed_request', 'the body did not arrive in time');
}
