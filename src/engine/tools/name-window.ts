import { readLimits } from '../../domain/tools.ts';

/** Some names out of a directory, whose names come in pieces with a NUL behind each. */
export class NameWindow {
  readonly #offset: number;
  readonly #limit: number;
  /** Names that are not UTF-8 come with replacement characters: JSON has no way to say them. */
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  readonly #entries: string[] = [];
  #rest = '';
  #bytes = 0;
  #total = 0;
  #full = false;

  /** `offset` counts from 1. */
  constructor({ offset, limit }: { readonly offset: number; readonly limit: number }) {
    this.#offset = offset;
    this.#limit = limit;
  }

  get entries(): readonly string[] {
    return this.#entries;
  }

  get total(): number {
    return this.#total;
  }

  /** There are names behind those that are shown. */
  get full(): boolean {
    return this.#full;
  }

  push(chunk: Uint8Array): void {
    const names = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split('\0');
    this.#rest = names.pop() ?? '';
    for (const name of names) this.#take(name);
  }

  #take(name: string): void {
    this.#total++;
    if (this.#total < this.#offset || this.#full) return;
    this.#bytes += Buffer.byteLength(name) + 1;
    this.#full = this.#bytes > readLimits.bytes || this.#entries.length >= this.#limit;
    if (!this.#full) this.#entries.push(name);
  }
}
