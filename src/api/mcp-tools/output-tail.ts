/** Longer lines are cut. */
const keptCharacters = 200;

/** How a running command is doing, in one line: how much it has written, and the last of it. */
export class OutputTail {
  readonly #decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  #bytes = 0;
  #line = '';
  #unfinished = '';

  push(stream: 'stdout' | 'stderr', data: Uint8Array): string {
    this.#bytes += data.length;
    const text = this.#unfinished + this.#decoders[stream].decode(data, { stream: true });
    // A progress bar draws its line again and again, with a return in front.
    const lines = text.split(/[\r\n]+/);
    this.#unfinished = (lines.at(-1) ?? '').slice(-keptCharacters);
    this.#line = lines.findLast((line) => line.trim() !== '') ?? this.#line;
    return `${String(this.#bytes)} bytes: ${shown(this.#line)}`;
  }
}

/** Without what would command a terminal. */
function shown(line: string): string {
  const plain = line.replace(/\u001b\[[\d;?]*[A-Za-z]/g, '').replace(/\p{Cc}/gu, ' ');
  return plain.trim().slice(0, keptCharacters);
}
