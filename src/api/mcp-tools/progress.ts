import { Bell } from '../../base/bell.ts';
import type { Clock } from '../../base/clock.ts';

/** Between two notifications, however much there is to tell. */
const gapMs = 250;
/** While there is nothing new. Clients give up on a call that is silent for a minute. */
const signOfLifeMs = 10_000;

export interface Progress {
  /** In seconds: it rises whether or not there is anything new. */
  readonly progress: number;
  readonly message: string;
}

/** Tells whoever waits for a call how it goes on: at once, then at most a few times a second, and never nothing for long. */
export class ProgressTeller implements Disposable {
  readonly #send: (progress: Progress) => Promise<void>;
  readonly #clock: Clock;
  readonly #startedAt: number;
  readonly #news = new Bell();
  readonly #ended = new AbortController();
  #message = 'running';

  constructor(send: (progress: Progress) => Promise<void>, clock: Clock) {
    this.#send = send;
    this.#clock = clock;
    this.#startedAt = clock.monotonic();
    void this.#tell();
  }

  /** Returns at once; of several that come close together the last is told. */
  note(message: string): void {
    this.#message = message;
    this.#news.ring();
  }

  [Symbol.dispose](): void {
    this.#ended.abort();
  }

  async #tell(): Promise<void> {
    const { signal } = this.#ended;
    try {
      for (let heard = 0; ;) {
        await this.#news.ringAfter(heard, signOfLifeMs, this.#clock, signal);
        heard = this.#news.rings;
        const elapsedMs = this.#clock.monotonic() - this.#startedAt;
        await this.#send({ progress: Math.round(elapsedMs) / 1000, message: this.#message });
        await this.#clock.sleep(gapMs, signal);
      }
    } catch {
      // Disposed of, or the client is gone, which the call's own signal tells.
    }
  }
}
