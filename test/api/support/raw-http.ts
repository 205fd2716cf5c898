import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A connection on which a test says what it likes, byte by byte. */
export class RawConnection implements Disposable {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  /** How the connection broke; undefined while it has not, and after a clean close. */
  failure: Error | undefined;
  #received = '';

  private constructor(socket: Socket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        resolve();
      });
    });
    socket.on('error', (error) => {
      this.failure = error;
    });
    socket.setEncoding('utf8').on('data', (text: string) => {
      this.#received += text;
    });
  }

  static async open(port: number): Promise<RawConnection> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return new RawConnection(socket);
  }

  send(...lines: readonly string[]): void {
    this.socket.write(lines.join('\r\n'));
  }

  /** Everything that has come so far. */
  get received(): string {
    return this.#received;
  }

  /** Waits until `done` holds for what has come, or the connection has ended. */
  async until(done: (received: string) => boolean): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = (): void => {
      if (done(this.#received) || this.socket.closed) resolve();
    };
    this.socket.on('data', look).on('close', look);
    look();
    await promise;
    this.socket.off('data', look).off('close', look);
    return this.#received;
  }

  /** The next whole answer that has a Content-Length. */
  async answer(): Promise<RawAnswer> {
    await this.until((text) => parse(text) !== undefined);
    const parsed = parse(this.#received);
    if (!parsed) throw new Error(`no whole answer came: ${JSON.stringify(this.#received)}`);
    this.#received = this.#received.slice(parsed.length);
    return parsed.answer;
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}

function parse(text: string): { answer: RawAnswer; length: number } | undefined {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [statusLine = '', ...lines] = text.slice(0, end).split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const length = end + 4 + Number(headers['content-length'] ?? 0);
  if (text.length < length) return undefined;
  const status = Number(statusLine.split(' ')[1]);
  return { answer: { status, headers, body: text.slice(end + 4, length) }, length };
}
