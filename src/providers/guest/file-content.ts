import type { Readable } from 'node:stream';
import { EmergentError } from '../../domain/errors.ts';
import { toEmergentError } from './errors.ts';

/** The bytes of an answer. Fewer than announced are a failure, never a shorter file. */
export function fileContent(
  body: Readable,
  size: number | null,
  path: string,
): AsyncIterable<Uint8Array> {
  return { [Symbol.asyncIterator]: () => new FileContentReader(body, size, path) };
}

/** Not a generator: one that is cancelled before its first step would not end the transfer. */
class FileContentReader implements AsyncIterator<Uint8Array> {
  readonly #body: Readable;
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #size: number | null;
  readonly #path: string;
  #seen = 0;

  constructor(body: Readable, size: number | null, path: string) {
    this.#body = body;
    this.#chunks = (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
    this.#size = size;
    this.#path = path;
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const next = await this.#chunks.next().catch((error: unknown) => {
      throw toEmergentError(error, `reading ${this.#path}`);
    });
    if (next.done === true) return this.#end();
    this.#seen += next.value.length;
    return { done: false, value: next.value };
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#body.destroy();
    return { done: true, value: undefined };
  }

  #end(): IteratorResult<Uint8Array, undefined> {
    if (this.#size === null || this.#seen === this.#size) return { done: true, value: undefined };
    throw new EmergentError(
      'sandbox_unreachable',
      `reading ${this.#path}: ${String(this.#seen)} of ${String(this.#size)} bytes came`,
    );
  }
}
