import type { LineEnding } from '../../domain/tools.ts';
import { readLimits } from '../../domain/tools.ts';

export interface TextWindowOptions {
  /** The first line to keep, from 1. */
  readonly offset: number;
  readonly limit: number;
}

/** Some lines out of a text that comes in pieces: holds what it shows and one cut line, however long the text is. */
export class TextWindow {
  readonly #offset: number;
  readonly #limit: number;
  readonly #shown: string[] = [];
  #bytes = 0;
  /** The beginning of the line that is coming in, and its length so far. */
  #head = '';
  #length = 0;
  #last = '';
  /** Lines that have ended. */
  #lines = 0;
  #endings: LineEnding | null = null;
  #full = false;

  constructor({ offset, limit }: TextWindowOptions) {
    this.#offset = offset;
    this.#limit = limit;
  }

  /** Nothing that comes now will be shown: there is a line behind the window. */
  get full(): boolean {
    return this.#full;
  }

  get content(): string {
    return this.#shown.join('\n');
  }

  get shown(): number {
    return this.#shown.length;
  }

  get lineEnding(): LineEnding | null {
    return this.#endings;
  }

  /** Whole lines so far, and one more if text without an ending follows them. */
  get lines(): number {
    return this.#lines + (this.#length > 0 ? 1 : 0);
  }

  /** Null where there is no line. */
  get endsWithNewline(): boolean | null {
    return this.lines === 0 ? null : this.#length === 0;
  }

  push(text: string): void {
    let at = 0;
    while (at < text.length && !this.#full) {
      const end = text.indexOf('\n', at);
      this.#extend(text, at, end < 0 ? text.length : end);
      if (end < 0) return;
      this.#endLine();
      at = end + 1;
    }
  }

  /** The text is over: what came since the last line ending is the last line. */
  end(): void {
    if (this.#length > 0 && !this.#full) this.#show(this.#lines + 1);
  }

  #extend(text: string, from: number, to: number): void {
    if (from === to) return;
    if (this.#isBehind(this.#lines + 1)) {
      this.#full = true;
      return;
    }
    // One more than is shown: the \r of an ending may be the last.
    const room = readLimits.lineCharacters + 1 - this.#head.length;
    if (room > 0) this.#head += text.slice(from, Math.min(to, from + room));
    this.#length += to - from;
    this.#last = text.charAt(to - 1);
  }

  #endLine(): void {
    const number = this.#lines + 1;
    if (this.#isBehind(number)) {
      this.#full = true;
      return;
    }
    const ending = this.#length > 0 && this.#last === '\r' ? 'crlf' : 'lf';
    if (ending === 'crlf') {
      this.#length--;
      this.#head = this.#head.slice(0, this.#length);
    }
    this.#show(number);
    if (this.#full) return;
    this.#endings = this.#endings === null || this.#endings === ending ? ending : 'mixed';
    this.#lines = number;
    this.#head = '';
    this.#length = 0;
    this.#last = '';
  }

  #isBehind(number: number): boolean {
    return number >= this.#offset && number - this.#offset >= this.#limit;
  }

  #show(number: number): void {
    if (number < this.#offset) return;
    const line = `${String(number)}: ${cutLine(this.#head, this.#length)}`;
    const bytes = Buffer.byteLength(line) + (this.#shown.length > 0 ? 1 : 0);
    if (this.#bytes + bytes > readLimits.bytes) {
      this.#full = true;
      return;
    }
    this.#bytes += bytes;
    this.#shown.push(line);
  }
}

/** Never through the middle of a character that takes two units. */
function cutLine(head: string, length: number): string {
  if (length <= readLimits.lineCharacters) return head;
  const kept = head.slice(0, readLimits.lineCharacters).replace(/[\uD800-\uDBFF]$/u, '');
  return `${kept}… [line cut: ${String(length)} characters]`;
}
