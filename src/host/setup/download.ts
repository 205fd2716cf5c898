import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Readable, Transform } from 'node:stream';
import type { TransformCallback } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import { withDeadline } from '../../base/deadline.ts';
import type { Note } from './step.ts';

const answerMs = 10_000;
const wholeMs = 15 * 60_000;

/** Downloads a file and checks its SHA-256; a partial or wrong file is removed. */
export async function download(
  url: string,
  sha256: string,
  target: string,
  note: Note,
  signal: AbortSignal,
): Promise<void> {
  const host = new URL(url).host;
  const stop = new AbortController();
  const whole = AbortSignal.any([signal, stop.signal, AbortSignal.timeout(wholeMs)]);
  try {
    const response = await withDeadline(
      `an answer from ${host}`,
      answerMs,
      async () => fetch(url, { signal: whole }),
      signal,
    );
    if (!response.ok || !response.body) {
      throw new Error(`${host} answered ${String(response.status)} for ${url}`);
    }
    const total = Number(response.headers.get('content-length') ?? 0);
    const meter = new Meter(total, note);
    await pipeline(Readable.fromWeb(response.body), meter, createWriteStream(target), {
      signal: whole,
    });
    const sum = meter.digest();
    if (sum !== sha256)
      throw new Error(`${url} has the SHA-256 ${sum}, not the expected ${sha256}`);
  } catch (error) {
    stop.abort();
    await rm(target, { force: true });
    throw error;
  }
}

/** Passes bytes on, hashes them and tells how many there were. */
class Meter extends Transform {
  readonly #hash = createHash('sha256');
  readonly #total: number;
  readonly #note: Note;
  #bytes = 0;
  #told = 0;

  constructor(total: number, note: Note) {
    super();
    this.#total = total;
    this.#note = note;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#hash.update(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes - this.#told > 2 ** 20) {
      this.#told = this.#bytes;
      const of = this.#total > 0 ? ` of ${megabytes(this.#total)}` : '';
      this.#note(`downloaded ${megabytes(this.#bytes)}${of} MB`);
    }
    done(null, chunk);
  }

  digest(): string {
    return this.#hash.digest('hex');
  }
}

function megabytes(bytes: number): string {
  return String(Math.round(bytes / 2 ** 20));
}
