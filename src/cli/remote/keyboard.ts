import type { TerminalConnection } from '../http/terminal-client.ts';
import { DetachKeys } from '../terminal/detach-keys.ts';

/** What is typed while there is no connection; beyond it we stop reading. */
const maxWaitingBytes = 64 * 1024;
const endOfFile = 0x04;
const lineFeed = 0x0a;

/**
 * Standard input to whichever connection there is. At a terminal it listens for the keys that detach. From a pipe
 * every byte is passed on, and its end is what a person types at the end: an end-of-file character, which only at
 * the beginning of a line means the end, so a line that is not finished is finished first.
 */
export class Keyboard implements Disposable {
  readonly #keys = process.stdin.isTTY ? new DetachKeys() : undefined;
  readonly #onDetach: () => void;
  #connection: TerminalConnection | undefined;
  #waiting: Buffer[] = [];
  #sending = false;
  #last = lineFeed;

  constructor(onDetach: () => void) {
    this.#onDetach = onDetach;
    process.stdin.on('data', this.#typed);
    process.stdin.once('end', this.#ended);
  }

  /** Undefined while there is none. */
  connect(connection: TerminalConnection | undefined): void {
    this.#connection = connection;
    void this.#send();
  }

  [Symbol.dispose](): void {
    this.#connection = undefined;
    process.stdin.off('data', this.#typed);
    process.stdin.off('end', this.#ended);
    process.stdin.pause();
  }

  readonly #typed = (data: Buffer): void => {
    const { passed, detach } = this.#keys?.take(data) ?? { passed: data, detach: false };
    this.#last = passed.at(-1) ?? this.#last;
    this.#pass(passed);
    if (detach) this.#onDetach();
  };

  readonly #ended = (): void => {
    this.#pass(Buffer.from(this.#last === lineFeed ? [endOfFile] : [lineFeed, endOfFile]));
  };

  #pass(data: Buffer): void {
    if (data.length === 0) return;
    this.#waiting.push(data);
    if (this.#waiting.reduce((sum, each) => sum + each.length, 0) > maxWaitingBytes) {
      process.stdin.pause();
    }
    void this.#send();
  }

  async #send(): Promise<void> {
    if (this.#sending) return;
    this.#sending = true;
    for (;;) {
      const connection = this.#connection;
      const next = connection && this.#waiting.shift();
      if (!connection || !next) break;
      await connection.input(next);
      process.stdin.resume();
    }
    this.#sending = false;
  }
}
