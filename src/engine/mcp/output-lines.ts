import { StringDecoder } from 'node:string_decoder';

/** A longer line is told in pieces. */
const longest = 8 * 1024;

/** Cuts a stream of bytes into lines of text, whatever pieces it comes in. */
export class OutputLines {
  readonly #decoder = new StringDecoder('utf8');
  readonly #onLine: (line: string) => void;
  #rest = '';

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  feed(data: Uint8Array): void {
    const lines = (this.#rest + this.#decoder.write(Buffer.from(data))).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#onLine(line.replace(/\r$/, ''));
    if (this.#rest.length > longest) this.flush();
  }

  flush(): void {
    if (this.#rest !== '') this.#onLine(this.#rest);
    this.#rest = '';
  }
}
