import { note, oneLine } from './output.ts';

/** What is going on, on standard error: one line that changes on a terminal, one for each change elsewhere. */
export class StatusLine implements Disposable {
  #shown = '';

  show(text: string): void {
    const line = oneLine(text);
    if (line === this.#shown) return;
    this.#shown = line;
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${line.slice(0, width())}`);
    else note(line);
  }

  /** The line is gone from a terminal; what comes of it all is for others to say. */
  [Symbol.dispose](): void {
    if (process.stderr.isTTY && this.#shown !== '') process.stderr.write('\r\x1b[K');
  }
}

/** A line that wraps could not be taken back. */
function width(): number {
  return Math.max(20, process.stderr.columns - 1);
}
