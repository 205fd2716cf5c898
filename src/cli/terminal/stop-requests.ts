import type { Clock } from '../../base/clock.ts';

/** npm passes on the Ctrl-C that the terminal has sent to us already: so soon, it is the same one. */
const sameRequestMs = 1_000;

/** What a signal to a server means: close in order, nothing new, or exit at once. */
export class StopRequests {
  readonly #clock: Clock;
  #firstAt: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  receive(): 'close' | 'same' | 'exit' {
    const now = this.#clock.monotonic();
    if (this.#firstAt === undefined) {
      this.#firstAt = now;
      return 'close';
    }
    return now - this.#firstAt <= sameRequestMs ? 'same' : 'exit';
  }
}
