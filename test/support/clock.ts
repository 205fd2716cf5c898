import { abortReason } from '../../src/base/clock.ts';
import type { Clock } from '../../src/base/clock.ts';

interface Sleeper {
  readonly ms: number;
  readonly due: number;
  readonly wake: () => void;
}

/** A clock that stands still until a test advances it. Both of its times run together. */
export class FakeClock implements Clock {
  #elapsed = 0;
  readonly #start: number;
  readonly #sleepers = new Set<Sleeper>();
  readonly #waiting = new Set<{ readonly over: () => boolean; readonly resolve: () => void }>();

  constructor(start: Date = new Date('2030-01-01T00:00:00Z')) {
    this.#start = start.getTime();
  }

  now(): Date {
    return new Date(this.#start + this.#elapsed);
  }

  monotonic(): number {
    return this.#elapsed;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    if (signal?.aborted) {
      reject(abortReason(signal));
      return promise;
    }
    const onAbort = (): void => {
      this.#sleepers.delete(sleeper);
      reject(abortReason(signal));
    };
    const sleeper: Sleeper = {
      ms,
      due: this.#elapsed + Math.max(0, ms),
      wake: () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      },
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#sleepers.add(sleeper);
    this.#announce();
    return promise;
  }

  /** How many sleeps have not ended. */
  get sleeping(): number {
    return this.#sleepers.size;
  }

  /** Resolves once at least `count` sleeps are waiting: the event to await before `advance`. */
  async whenSleeping(count = 1): Promise<void> {
    await this.#when(() => this.#sleepers.size >= count);
  }

  /** Resolves once a sleep of this length is waiting: the way to tell one loop from the others by its pause. */
  async whenSleepingFor(ms: number): Promise<void> {
    await this.#when(() => [...this.#sleepers].some((sleeper) => sleeper.ms === ms));
  }

  /**
   * Moves time on and wakes every sleep that falls due, in order. Each woken task runs to its next wait before
   * time moves further, so a loop that sleeps again within the span wakes again.
   */
  async advance(ms: number): Promise<void> {
    const target = this.#elapsed + ms;
    for (let next = this.#nextDue(target); next; next = this.#nextDue(target)) {
      this.#elapsed = next.due;
      this.#sleepers.delete(next);
      next.wake();
      await settled();
    }
    this.#elapsed = target;
    await settled();
  }

  #nextDue(until: number): Sleeper | undefined {
    const due = [...this.#sleepers].filter((sleeper) => sleeper.due <= until);
    return due.sort((a, b) => a.due - b.due)[0];
  }

  async #when(over: () => boolean): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add({ over, resolve });
    this.#announce();
    await promise;
  }

  #announce(): void {
    for (const waiter of this.#waiting) {
      if (!waiter.over()) continue;
      this.#waiting.delete(waiter);
      waiter.resolve();
    }
  }
}

/** One turn of the event loop: every promise that could settle without outside help has settled. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
