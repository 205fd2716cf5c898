import { systemClock } from '../../base/clock.ts';
import { oneLine } from './output.ts';
import { readableSize } from './units.ts';

const worthShowing = 4 * 2 ** 20;
const redrawMs = 100;

/** Counts the bytes of a transfer; on a terminal, and when they are many, shows how far it is. */
export class Progress {
  readonly #label: string;
  readonly #total: number | undefined;
  #bytes = 0;
  #drawnAt: number | undefined;

  constructor(label: string, total: number | undefined) {
    this.#label = oneLine(label);
    this.#total = total;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The same bytes, counted. The line is gone again when they end, however they end. */
  async *counting(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of source) {
        this.#bytes += chunk.length;
        if (process.stderr.isTTY && (this.#total ?? this.#bytes) >= worthShowing) this.#draw();
        yield chunk;
      }
    } finally {
      if (this.#drawnAt !== undefined) process.stderr.write('\r\x1b[K');
    }
  }

  #draw(): void {
    const now = systemClock.monotonic();
    if (this.#drawnAt !== undefined && now - this.#drawnAt < redrawMs) return;
    this.#drawnAt = now;
    process.stderr.write(`\r\x1b[K${this.#label}  ${this.#amount()}`);
  }

  #amount(): string {
    const done = readableSize(this.#bytes);
    if (this.#total === undefined) return done;
    const percent = Math.floor((100 * this.#bytes) / this.#total);
    return `${done} of ${readableSize(this.#total)}, ${String(percent)} %`;
  }
}
