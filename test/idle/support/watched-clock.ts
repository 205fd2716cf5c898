import { systemClock } from '../../../src/base/clock.ts';
import type { Clock } from '../../../src/base/clock.ts';

/** The real clock, which tells of pauses of a certain length. */
export class WatchedClock implements Clock {
  readonly #waiting = new Set<{ readonly ms: number; readonly resolve: () => void }>();

  now(): Date {
    return systemClock.now();
  }

  monotonic(): number {
    return systemClock.monotonic();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    for (const waiter of this.#waiting) {
      if (waiter.ms !== ms) continue;
      this.#waiting.delete(waiter);
      waiter.resolve();
    }
    return systemClock.sleep(ms, signal);
  }

  /** Resolves when somebody begins to sleep for so long. */
  nextPause(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add({ ms, resolve });
    return promise;
  }
}
