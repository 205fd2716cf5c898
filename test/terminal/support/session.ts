import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import { runSession } from '../../../src/api/terminal/session.ts';
import type { OutputEvent } from '../../../src/domain/exec.ts';
import type { Terminal } from '../../../src/engine/engine.ts';
import { FakeClock } from '../../support/clock.ts';

export const pingMs = 30_000;

/** The server's half of a terminal's connection, without a workspace behind it and with a clock that stands still. */
export class Session implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly closing = new AbortController();
  /** The attachment, which the session ends. */
  readonly left = new AbortController();
  readonly typed: string[] = [];
  /** The server's end of the connection, once a client has come. */
  readonly connected: Promise<WebSocket>;
  /** Resolves when the session is over. */
  readonly over: Promise<void>;
  readonly #server: Server;
  readonly #clients: Socket[] = [];
  /** How many pieces of output were taken. */
  taken = 0;

  private constructor(server: Server, output: AsyncIterable<OutputEvent>) {
    this.#server = server;
    const sockets = new WebSocketServer({ server });
    this.connected = once(sockets, 'connection').then(([socket]) => socket as WebSocket);
    this.over = this.connected.then((socket) =>
      runSession(socket, this.#terminal(output), {
        clock: this.clock,
        pingMs,
        closing: this.closing.signal,
        describe: (failure) => ({ message: String(failure) }),
        leave: () => {
          this.left.abort();
        },
      }),
    );
  }

  static async start(output: (left: AbortSignal) => AsyncIterable<OutputEvent>): Promise<Session> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const session: Session = new Session(server, {
      [Symbol.asyncIterator]: () => output(session.left.signal)[Symbol.asyncIterator](),
    });
    return session;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Brings a client that after its handshake does nothing more: it neither reads nor answers. */
  async deadClient(): Promise<WebSocket> {
    const client = connect({ port: this.port, host: '127.0.0.1' });
    this.#clients.push(client);
    client.write(
      'GET / HTTP/1.1\r\nHost: terminal\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
    );
    return this.connected;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) client.destroy();
    this.#server.close();
    (await this.connected).terminate();
    await this.over;
  }

  #terminal(output: AsyncIterable<OutputEvent>): Terminal {
    return {
      processId: 'a-process',
      pid: 1,
      offset: 0,
      events: this.#counted(output),
      input: async (data) => {
        this.typed.push(Buffer.from(data).toString());
      },
      resize: async () => undefined,
      signal: async () => undefined,
    };
  }

  async *#counted(output: AsyncIterable<OutputEvent>): AsyncGenerator<OutputEvent> {
    for await (const event of output) {
      this.taken++;
      yield event;
    }
  }
}

/** Output of which nothing comes until the attachment ends. */
export async function* silence(left: AbortSignal): AsyncGenerator<OutputEvent> {
  await once(left, 'abort');
  throw new Error('left');
}
