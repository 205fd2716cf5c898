import { abortReason } from './clock.ts';

/** At most so many pieces of work at a time; the others wait for their turn, in order. */
export class Slots {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(limit: number) {
    this.#free = limit;
  }

  /** Rejects with the signal's reason if it aborts before the turn comes; afterwards it is the work's own matter. */
  async use<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free--;
    else await this.#turn(signal);
    try {
      return await work();
    } finally {
      this.#pass();
    }
  }

  /** The slot of whoever leaves goes to the next directly, so that nobody can come in between. */
  #pass(): void {
    const [next] = this.#waiting;
    if (next) next();
    else this.#free++;
  }

  #turn(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onAbort = (): void => {
      this.#waiting.delete(take);
      reject(abortReason(signal));
    };
    const take = (): void => {
      this.#waiting.delete(take);
      signal.removeEventListener('abort', onAbort);
      resolve();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    this.#waiting.add(take);
    return promise;
  }
}
