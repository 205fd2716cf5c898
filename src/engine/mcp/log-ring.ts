import { Bell } from '../../base/bell.ts';
import type { Clock } from '../../base/clock.ts';
import type { McpLogLine } from '../../domain/mcp.ts';

const mostLines = 1_000;
const mostCharacters = 256 * 1024;
const longestLine = 8 * 1024;
/** Without a new line it is looked whether the server is still there. */
const lookAgainMs = 30_000;

/** The newest lines that a server wrote, or that were noted about it: bounded, whatever it floods. */
export class LogRing implements Disposable {
  readonly #clock: Clock;
  readonly #bell = new Bell();
  readonly #closed = new AbortController();
  #lines: McpLogLine[] = [];
  #characters = 0;
  #last = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(stream: McpLogLine['stream'], text: string): void {
    const kept = text.length > longestLine ? `${text.slice(0, longestLine)}…` : text;
    this.#last += 1;
    this.#lines.push({ number: this.#last, at: this.#clock.now(), stream, text: kept });
    this.#characters += kept.length;
    this.#bell.ring();
    // Seldom, and many at a time: shifting one by one is slow where a program floods.
    if (this.#lines.length > 2 * mostLines || this.#characters > 2 * mostCharacters) this.#trim();
  }

  /** The newest, oldest first. */
  tail(limit: number): readonly McpLogLine[] {
    this.#trim();
    return limit === 0 ? [] : this.#lines.slice(-limit);
  }

  /** The last line that it wrote itself. */
  get lastWords(): string | undefined {
    return this.#lines.findLast(({ stream, text }) => stream !== 'host' && text.trim() !== '')
      ?.text;
  }

  /** The newest `limit`, then each as it comes, until `signal` aborts or the ring is disposed. */
  async *follow(limit: number, signal: AbortSignal): AsyncGenerator<McpLogLine> {
    const until = AbortSignal.any([signal, this.#closed.signal]);
    let seen = this.#last - Math.min(limit, this.#lines.length);
    while (!until.aborted) {
      const heard = this.#bell.rings;
      const fresh = this.#lines.filter(({ number }) => number > seen);
      for (const line of fresh) {
        seen = line.number;
        yield line;
      }
      if (fresh.length > 0) continue;
      try {
        await this.#bell.ringAfter(heard, lookAgainMs, this.#clock, until);
      } catch {
        return;
      }
    }
  }

  [Symbol.dispose](): void {
    this.#closed.abort(new Error('the server is gone'));
  }

  #trim(): void {
    this.#lines = this.#lines.slice(-mostLines);
    this.#characters = this.#lines.reduce((sum, { text }) => sum + text.length, 0);
    while (this.#characters > mostCharacters) {
      this.#characters -= this.#lines.shift()?.text.length ?? this.#characters;
    }
  }
}
