import { systemClock } from '../../base/clock.ts';
import type { Clock } from '../../base/clock.ts';

/** Where set-up speaks to a person. `live` lines replace each other; without a terminal there are none. */
export interface SetupOutput {
  readonly print: (line: string) => void;
  readonly live?: ((line: string) => void) | undefined;
}

export function terminalOutput(stream: NodeJS.WriteStream): SetupOutput {
  if (!stream.isTTY) {
    return {
      print: (line) => {
        stream.write(`${line}\n`);
      },
    };
  }
  const clear = '\r\x1b[K';
  return {
    print: (line) => {
      stream.write(`${clear}${line}\n`);
    },
    live: (line) => {
      stream.write(`${clear}${line.slice(0, Math.max(20, stream.columns - 1))}`);
    },
  };
}

const plainEveryMs = 10_000;
const liveEveryMs = 1_000;

/** Shows that a long step is alive, with its seconds and what it does now, until disposed. */
export class ProgressLine implements AsyncDisposable {
  readonly #output: SetupOutput;
  readonly #clock: Clock;
  readonly #startedAt: number;
  readonly #stop = new AbortController();
  readonly #ticking: Promise<void>;
  #now = '';

  constructor(output: SetupOutput, clock: Clock = systemClock) {
    this.#output = output;
    this.#clock = clock;
    this.#startedAt = clock.monotonic();
    this.#ticking = this.#tick();
  }

  readonly note = (line: string): void => {
    this.#now = line.trim();
    this.#output.live?.(this.#text());
  };

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#ticking;
    this.#output.live?.('');
  }

  #text(): string {
    const seconds = Math.round((this.#clock.monotonic() - this.#startedAt) / 1000);
    return `    … ${String(seconds)} s ${this.#now}`.trimEnd();
  }

  async #tick(): Promise<void> {
    const { live, print } = this.#output;
    const show = live ?? print;
    while (await this.#slept(live ? liveEveryMs : plainEveryMs)) show(this.#text());
  }

  async #slept(ms: number): Promise<boolean> {
    return this.#clock.sleep(ms, this.#stop.signal).then(
      () => true,
      () => false,
    );
  }
}
