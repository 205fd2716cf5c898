import { EmergentError } from '../../domain/errors.ts';

/**
 * Exactly `size` bytes of `content`, since the answer's Content-Length has promised them: a file that grows while
 * it is read is cut there, and one that shrinks fails, so that no reader takes a part for the whole.
 */
export function exactly(
  size: number,
  content: AsyncIterable<Uint8Array>,
): AsyncIterable<Uint8Array> {
  return { [Symbol.asyncIterator]: () => new ExactLength(size, content[Symbol.asyncIterator]()) };
}

/** Not a generator: one that is cancelled before its first step would not cancel what it reads from. */
class ExactLength implements AsyncIterator<Uint8Array> {
  readonly #source: AsyncIterator<Uint8Array>;
  #left: number;

  constructor(size: number, source: AsyncIterator<Uint8Array>) {
    this.#left = size;
    this.#source = source;
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const next = await this.#source.next();
    if (next.done === true) return this.#end();
    const value = next.value.subarray(0, this.#left);
    this.#left -= value.length;
    return value.length === next.value.length ? { done: false, value } : this.#cut(value);
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    await this.#source.return?.();
    return { done: true, value: undefined };
  }

  async #cut(value: Uint8Array): Promise<IteratorResult<Uint8Array, undefined>> {
    const end = await this.return();
    return value.length === 0 ? end : { done: false, value };
  }

  #end(): IteratorResult<Uint8Array, undefined> {
    if (this.#left === 0) return { done: true, value: undefined };
    throw new EmergentError(
      'provider_failed',
      `the file ended ${String(this.#left)} bytes too early`,
    );
  }
}
