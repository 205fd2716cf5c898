import { withDeadline } from '../base/deadline.ts';

/** Lets a number of takers work at once; the others wait in line, first come, first served. */
export class Turns {
  readonly #what: string;
  readonly #waitMs: number;
  readonly #line: (() => void)[] = [];
  #free: number;

  /** `what` names the wait, for the error of a taker whose turn did not come within `waitMs`. */
  constructor(what: string, places: number, waitMs: number) {
    this.#what = what;
    this.#free = places;
    this.#waitMs = waitMs;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    await this.#take();
    try {
      return await work();
    } finally {
      this.#pass();
    }
  }

  async #take(): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    const turn = Promise.withResolvers<void>();
    this.#line.push(turn.resolve);
    try {
      await withDeadline(this.#what, this.#waitMs, () => turn.promise);
    } catch (error) {
      const place = this.#line.indexOf(turn.resolve);
      if (place >= 0) this.#line.splice(place, 1);
      // The turn came in the moment of giving up: the next one gets it.
      else this.#pass();
      throw error;
    }
  }

  #pass(): void {
    const next = this.#line.shift();
    if (next) next();
    else this.#free += 1;
  }
}
