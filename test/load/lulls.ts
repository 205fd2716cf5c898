import type { Clock } from '../../src/base/clock.ts';
import type { Random } from '../chaos/random.ts';
import type { Pool } from '../chaos/pool.ts';
import { until } from '../chaos/until.ts';

export interface LullsOptions {
  readonly pool: Pool;
  readonly random: Random;
  readonly clock: Clock;
  /** How long clients work before they rest. */
  readonly workMs: number;
}

/** A killer that keeps at it may never let the pool be full. */
const fillMs = 10_000;
const restMs = 3_000;

/**
 * Lets clients work and rest in turns. Under a load without pauses whatever becomes ready is taken at once, and nothing
 * would ever wait in the pool; after a rest all of them come at the same time upon a full one.
 */
export class Lulls {
  readonly #options: LullsOptions;
  #door = Promise.withResolvers<void>();

  constructor(options: LullsOptions) {
    this.#options = options;
    this.#door.resolve();
  }

  /** Resolves while clients may work, otherwise when they may again. */
  async pass(): Promise<void> {
    await this.#door.promise;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { pool, random, workMs } = this.#options;
    while (!signal.aborted) {
      await this.#pause(workMs, signal);
      this.#door = Promise.withResolvers<void>();
      try {
        await until(() => pool.isFull(), fillMs, signal);
        await this.#pause(random.integer(0, restMs), signal);
      } finally {
        this.#door.resolve();
      }
    }
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    await this.#options.clock.sleep(ms, signal).catch(() => undefined);
  }
}
