import { Duplex } from 'node:stream';

const headerBytes = 8;
const stdoutKind = 1;
const keptErrorBytes = 2_000;

/**
 * An exec's standard input and output as one duplex byte stream. The engine frames its output (kind, length,
 * payload); frames are taken apart as they come, and back-pressure goes through in both directions. A program
 * that ends having spoken only on standard error has failed: the stream then fails with its words.
 */
export class ExecStream extends Duplex {
  readonly #socket: Duplex;
  readonly #header = Buffer.alloc(headerBytes);
  #headerFilled = 0;
  #frameLeft = 0;
  #kind = 0;
  #stderr = Buffer.alloc(0);
  #spoke = false;

  constructor(socket: Duplex) {
    super({ allowHalfOpen: true, readableHighWaterMark: 2 ** 20, writableHighWaterMark: 2 ** 20 });
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.#take(chunk);
    });
    socket.once('end', () => {
      if (this.#spoke || this.#stderr.length === 0) this.push(null);
      else this.destroy(new Error(this.stderr.trim()));
    });
    socket.once('error', (error) => {
      this.destroy(error);
    });
    socket.once('close', () => {
      // What came before an orderly end is still to be read.
      if (socket.readableEnded && !this.readableEnded) this.once('end', () => this.destroy());
      else this.destroy();
    });
  }

  /** Whether anything has come on standard output. */
  get spoke(): boolean {
    return this.#spoke;
  }

  /** The first bytes of what the exec'd program said on standard error. */
  get stderr(): string {
    return this.#stderr.toString('utf8');
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, done);
  }

  /** What was written piece by piece goes out in one system call. */
  override _writev(
    pieces: readonly { readonly chunk: Buffer }[],
    done: (error?: Error | null) => void,
  ): void {
    this.#socket.cork();
    const last = pieces.length - 1;
    pieces.forEach(({ chunk }, index) => {
      if (index === last) this.#socket.write(chunk, done);
      else this.#socket.write(chunk);
    });
    this.#socket.uncork();
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }

  #take(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#frameLeft === 0) {
        rest = this.#takeHeader(rest);
        continue;
      }
      const payload = rest.subarray(0, this.#frameLeft);
      rest = rest.subarray(payload.length);
      this.#frameLeft -= payload.length;
      if (this.#kind === stdoutKind) this.#spoke = true;
      if (this.#kind !== stdoutKind) this.#keepError(payload);
      else if (!this.push(payload)) this.#socket.pause();
    }
  }

  #takeHeader(bytes: Buffer): Buffer {
    const taken = bytes.copy(this.#header, this.#headerFilled, 0, headerBytes - this.#headerFilled);
    this.#headerFilled += taken;
    if (this.#headerFilled === headerBytes) {
      this.#headerFilled = 0;
      this.#kind = this.#header.readUInt8(0);
      this.#frameLeft = this.#header.readUInt32BE(4);
    }
    return bytes.subarray(taken);
  }

  #keepError(payload: Buffer): void {
    const room = keptErrorBytes - this.#stderr.length;
    this.#stderr = Buffer.concat([this.#stderr, payload.subarray(0, room)]);
  }
}
