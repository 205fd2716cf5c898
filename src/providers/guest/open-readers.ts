import { DeadlineError, withDeadline } from '../../base/deadline.ts';

/** Those who are reading the output of a command and have not heard of its end. */
export class OpenReaders {
  readonly #open = new Set<Promise<void>>();

  /** Counts a reader in; the returned function counts it out and may be called again. */
  begin(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#open.add(promise);
    return () => {
      this.#open.delete(promise);
      resolve();
    };
  }

  /** Resolves when all who read now are through, or when the time is up: one that dawdles is not waited for. */
  async through(limitMs: number): Promise<void> {
    try {
      await withDeadline('reading to the end', limitMs, () => Promise.all(this.#open));
    } catch (error) {
      if (!(error instanceof DeadlineError)) throw error;
    }
  }
}
