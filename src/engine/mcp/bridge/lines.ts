const newline = 0x0a;
const firstCapacity = 4_096;
/** A buffer that one long line has made larger than this is given back. */
const keptCapacity = 65_536;
const excerptBytes = 4_096;

export interface LineHandler {
  /** One line without its end; never an empty one. */
  line(bytes: Buffer): void;
  /** A line has grown too long and is dropped from here on; `head` is how it began. */
  tooLong(head: Buffer): void;
  /** That line has ended; `tail` is how. */
  tooLongEnded(tail: Buffer): void;
}

/**
 * Cuts a stream of bytes into lines, whatever the pieces in which it comes. What is held is copied into one buffer that
 * doubles, so neither tiny pieces nor long lines cost more than their bytes, and no piece is kept alive.
 */
export class LineSplitter {
  readonly #maxBytes: number;
  readonly #handler: LineHandler;
  #held = Buffer.allocUnsafe(firstCapacity);
  #length = 0;
  /** Within a line that is too long: its last bytes. */
  #tail: Buffer | null = null;

  constructor(maxBytes: number, handler: LineHandler) {
    this.#maxBytes = maxBytes;
    this.#handler = handler;
  }

  feed(piece: Uint8Array): void {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    let start = 0;
    for (let end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline, start)) {
      this.#endLine(bytes.subarray(start, end));
      start = end + 1;
    }
    if (start < bytes.length) this.#hold(bytes.subarray(start));
  }

  /** Forgets the line that has begun, and answers with what there was of it: its rest is lost. */
  cut(): Buffer {
    const begun = Buffer.from(this.#held.subarray(0, this.#length));
    this.#clear();
    this.#tail = null;
    return begun;
  }

  #endLine(rest: Buffer): void {
    if (this.#tail || this.#length > 0 || rest.length > this.#maxBytes) this.#hold(rest);
    if (this.#tail) {
      const tail = this.#tail;
      this.#tail = null;
      this.#handler.tooLongEnded(tail);
      return;
    }
    const held = this.#length > 0;
    const line = withoutCarriageReturn(held ? this.#held.subarray(0, this.#length) : rest);
    if (line.length > 0) this.#handler.line(line);
    if (held) this.#clear();
  }

  #hold(bytes: Buffer): void {
    if (this.#tail) {
      this.#tail = lastBytes(this.#tail, bytes);
      return;
    }
    const length = this.#length + bytes.length;
    if (length > this.#maxBytes) {
      const held = this.#held.subarray(0, this.#length);
      const head = firstBytes(Math.min(excerptBytes, this.#maxBytes), held, bytes);
      this.#tail = lastBytes(held, bytes);
      this.#clear();
      this.#handler.tooLong(head);
      return;
    }
    if (length > this.#held.length) this.#grow(length);
    bytes.copy(this.#held, this.#length);
    this.#length = length;
  }

  #grow(needed: number): void {
    const capacity = Math.min(this.#maxBytes, Math.max(needed, this.#held.length * 2));
    const larger = Buffer.allocUnsafe(capacity);
    this.#held.copy(larger, 0, 0, this.#length);
    this.#held = larger;
  }

  #clear(): void {
    this.#length = 0;
    if (this.#held.length > keptCapacity) this.#held = Buffer.allocUnsafe(firstCapacity);
  }
}

function withoutCarriageReturn(line: Buffer): Buffer {
  return line.at(-1) === 0x0d ? line.subarray(0, -1) : line;
}

function firstBytes(count: number, a: Buffer, b: Buffer): Buffer {
  const missing = Math.max(0, count - a.length);
  return Buffer.concat([a.subarray(0, count), b.subarray(0, missing)]);
}

function lastBytes(a: Buffer, b: Buffer): Buffer {
  if (b.length >= excerptBytes) return Buffer.from(b.subarray(-excerptBytes));
  return Buffer.concat([a.subarray(Math.max(0, a.length + b.length - excerptBytes)), b]);
}
