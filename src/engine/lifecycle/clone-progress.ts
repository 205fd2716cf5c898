import type { Clock } from '../../base/clock.ts';

/** An event for every so many milliseconds is enough for whoever waits. */
const everyMs = 2_000;
/** Of what git says, no more is kept to find a figure that comes in two pieces. */
const keptCharacters = 200;
const figure = /(Receiving objects|Resolving deltas|Updating files): +(\d{1,3})%/g;

export interface CloneFigures {
  /** In git's words. */
  readonly phase: string;
  readonly percent: number;
}

/** Reads how far a clone is from what git says of it, which comes out of a sandbox: only known words count. */
export class CloneProgress {
  readonly #clock: Clock;
  readonly #decoder = new TextDecoder();
  #rest = '';
  #toldAt: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What is worth telling now, if anything. */
  push(said: Uint8Array): CloneFigures | undefined {
    const text = this.#rest + this.#decoder.decode(said, { stream: true });
    this.#rest = text.slice(-keptCharacters);
    const last = [...text.matchAll(figure)].at(-1);
    const now = this.#clock.monotonic();
    if (!last || (this.#toldAt !== undefined && now - this.#toldAt < everyMs)) return undefined;
    this.#toldAt = now;
    return { phase: last[1] ?? '', percent: Math.min(100, Number(last[2])) };
  }
}
