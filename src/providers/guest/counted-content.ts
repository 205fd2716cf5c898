/** Content whose beginning can be looked at before it is sent, and whose bytes are counted. */
export class CountedContent {
  readonly #source: AsyncIterator<Uint8Array>;
  readonly #held: Uint8Array[] = [];
  bytes = 0;

  constructor(content: AsyncIterable<Uint8Array>) {
    this.#source = content[Symbol.asyncIterator]();
  }

  /** Holds up to about `bytes`; tells whether that was everything. */
  async fill(bytes: number): Promise<boolean> {
    while (this.bytes < bytes) {
      const next = await this.#source.next();
      if (next.done === true) return true;
      this.#hold(next.value);
    }
    return false;
  }

  /** Everything, from the beginning; can be read once. */
  async *all(): AsyncGenerator<Uint8Array> {
    try {
      yield* this.#held.splice(0);
      for (;;) {
        const next = await this.#source.next();
        if (next.done === true) return;
        this.bytes += next.value.length;
        yield next.value;
      }
    } finally {
      this.abandon();
    }
  }

  /** Nobody will read on. Not awaited: a source that waits for its own input would hold up the end. */
  abandon(): void {
    this.#source.return?.().catch(() => undefined);
  }

  #hold(chunk: Uint8Array): void {
    this.#held.push(chunk);
    this.bytes += chunk.length;
  }
}
