import { bridgeBounds } from './bounds.ts';
import { LineSplitter } from './lines.ts';
import { parseLine } from './messages.ts';
import type { Incoming } from './messages.ts';
import { idInHead, idInTail } from './oversized.ts';

export interface InboxOptions {
  readonly onMessage: (message: Incoming) => void;
  /** A message was too large to be taken; null: nothing in it says which call it answers. */
  readonly onTooLarge: (id: number | null) => void;
  readonly onStray: (line: string) => void;
}

/** Messages from what the program writes to its standard output. Nothing that it writes is fatal. */
export class Inbox {
  readonly #options: InboxOptions;
  readonly #lines: LineSplitter;
  #strayLines = 0;

  constructor(options: InboxOptions) {
    this.#options = options;
    let told = false;
    this.#lines = new LineSplitter(bridgeBounds.incomingBytes, {
      line: (bytes) => {
        this.#line(bytes);
      },
      tooLong: (head) => {
        this.#stray(head);
        const id = idInHead(head);
        told = id !== null;
        if (told) options.onTooLarge(id);
      },
      tooLongEnded: (tail) => {
        if (!told) options.onTooLarge(idInTail(tail));
      },
    });
  }

  get strayLines(): number {
    return this.#strayLines;
  }

  feed(bytes: Uint8Array): void {
    this.#lines.feed(bytes);
  }

  /** The line that had begun has lost its end, and what comes next perhaps its beginning: that is then no message. */
  skipped(): void {
    const begun = this.#lines.cut();
    if (begun.length > 0) this.#stray(begun);
  }

  #line(bytes: Buffer): void {
    const messages = parseLine(bytes.toString('utf8'));
    if (messages) for (const message of messages) this.#options.onMessage(message);
    else if (!isBlank(bytes)) this.#stray(bytes);
  }

  #stray(bytes: Buffer): void {
    this.#strayLines += 1;
    this.#options.onStray(bytes.toString('utf8', 0, bridgeBounds.strayBytes));
  }
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}
