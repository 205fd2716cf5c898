import { untilAborted } from '../../base/until-aborted.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { AttachOptions, ExecExit, OutputEvent } from '../../domain/exec.ts';

interface Chunk {
  readonly type: 'stdout' | 'stderr';
  readonly data: Uint8Array;
  /** How many bytes of output lie before the end of it. */
  readonly end: number;
}

const defaultLimitBytes = 64 * 2 ** 20;

/**
 * The output of one command, to be read from any place, by any number of readers, as often as they like. It is
 * bounded: the oldest output goes first. Readers never hold the command back.
 */
export class OutputLog {
  readonly #limitBytes: number;
  readonly #chunks: Chunk[] = [];
  #bytes = 0;
  #dropped = 0;
  #exit: ExecExit | null = null;
  #changed = Promise.withResolvers<void>();

  constructor(limitBytes = defaultLimitBytes) {
    this.#limitBytes = limitBytes;
  }

  /** All that was written. */
  get bytes(): number {
    return this.#bytes;
  }

  /** What is no longer kept of it. */
  get dropped(): number {
    return this.#dropped;
  }

  /** How the command ended; null while it runs. */
  get exit(): ExecExit | null {
    return this.#exit;
  }

  push(type: Chunk['type'], data: Uint8Array): void {
    this.#bytes += data.length;
    this.#chunks.push({ type, data, end: this.#bytes });
    for (;;) {
      const oldest = this.#chunks[0];
      if (!oldest || this.#bytes - this.#dropped <= this.#limitBytes) break;
      this.#chunks.shift();
      this.#dropped = oldest.end;
    }
    this.#notify();
  }

  end(exit: ExecExit): void {
    this.#exit = exit;
    this.#notify();
  }

  async *read(
    { offset, follow }: AttachOptions,
    signal: AbortSignal,
  ): AsyncGenerator<OutputEvent, undefined> {
    let at = offset;
    for (;;) {
      signal.throwIfAborted();
      const event = this.#at(at);
      if (event) {
        at = event.offset;
        yield event;
      } else if (this.#exit) {
        yield { type: 'exit', ...this.#exit };
        return;
      } else if (follow) {
        await untilAborted(this.#changed.promise, signal);
      } else {
        return;
      }
    }
  }

  /** Refuses a place that no output has reached. */
  requireOffset(offset: number): void {
    if (offset <= this.#bytes) return;
    throw new EmergentError(
      'invalid_value',
      `offset: ${String(offset)} is beyond the ${String(this.#bytes)} bytes written so far`,
    );
  }

  /** What lies at this place; undefined where nothing was written yet. */
  #at(offset: number): Exclude<OutputEvent, { type: 'exit' }> | undefined {
    if (offset < this.#dropped) {
      return { type: 'skipped', bytes: this.#dropped - offset, offset: this.#dropped };
    }
    const chunk = this.#chunks[this.#indexOf(offset)];
    if (!chunk) return undefined;
    const { type, data, end } = chunk;
    return { type, data: data.subarray(data.length - (end - offset)), offset: end };
  }

  /** The first chunk that ends after the offset, by halves: the chunks are in order. */
  #indexOf(offset: number): number {
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#chunks[middle]?.end ?? Infinity) > offset) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }
}
