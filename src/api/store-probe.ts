import type { Clock } from '../base/clock.ts';
import { withDeadline } from '../base/deadline.ts';
import { reasonOf } from '../base/reason.ts';
import { EmergentError } from '../domain/errors.ts';

const deadlineMs = 2_000;
const freshMs = 1_000;

/**
 * Whether the store answers. Anybody may ask, so one question is shared by all who ask while it runs, and its
 * answer holds for a second.
 */
export class StoreProbe {
  readonly #ask: () => Promise<unknown>;
  readonly #clock: Clock;
  #last: { readonly answer: Promise<void>; readonly until: number } | undefined;

  constructor(ask: () => Promise<unknown>, clock: Clock) {
    this.#ask = ask;
    this.#clock = clock;
  }

  /** Rejects with `store_unavailable`. */
  check(): Promise<void> {
    if (this.#last && this.#clock.monotonic() < this.#last.until) return this.#last.answer;
    const answer = this.#question().finally(() => {
      this.#last = { answer, until: this.#clock.monotonic() + freshMs };
    });
    this.#last = { answer, until: Infinity };
    return answer;
  }

  async #question(): Promise<void> {
    try {
      await withDeadline('the store', deadlineMs, () => this.#ask());
    } catch (error) {
      throw new EmergentError('store_unavailable', reasonForStrangers(error), { cause: error });
    }
  }
}

/** An unforeseen error may name hosts or users; a stranger reads only words that were written for callers. */
function reasonForStrangers(error: unknown): string {
  return error instanceof EmergentError ||
    (error instanceof Error && error.name === 'DeadlineError')
    ? reasonOf(error)
    : 'the store does not answer';
}
