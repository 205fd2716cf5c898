import type { Log } from './log.ts';
import { reasonOf } from './reason.ts';

/** Tells the log of a lasting trouble when it begins, changes and ends, not at every turn in between. */
export class Troubles {
  readonly #log: Log;
  readonly #reasons = new Map<string, string>();

  constructor(log: Log) {
    this.#log = log;
  }

  note(about: string, message: string, why: unknown): void {
    const reason = reasonOf(why);
    if (this.#reasons.get(about) === reason) return;
    this.#reasons.set(about, reason);
    this.#log.warn(message, why instanceof Error ? { err: why } : { reason });
  }

  /** Says so if there was any. */
  over(about: string, message: string): void {
    if (this.#reasons.delete(about)) this.#log.info(message);
  }
}
