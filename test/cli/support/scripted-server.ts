import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A server that answers as a test scripts it, for what the real one never does: break in the middle. */
export class ScriptedServer implements AsyncDisposable {
  readonly #server: Server;
  readonly #answering = Promise.withResolvers<void>();
  readonly requests: string[] = [];

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(answer: Answer): Promise<ScriptedServer> {
    const server = createServer();
    const scripted = new ScriptedServer(server);
    server.on('request', (request, response) => {
      scripted.requests.push(`${request.method ?? ''} ${request.url ?? ''}`);
      answer(request, response);
      scripted.#answering.resolve();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return scripted;
  }

  get env(): Readonly<Record<string, string>> {
    const { port } = this.#server.address() as AddressInfo;
    return { EMERGENT_URL: `http://127.0.0.1:${String(port)}`, EMERGENT_TOKEN: 'token' };
  }

  /** Resolves when the first answer has begun. */
  get answering(): Promise<void> {
    return this.#answering.promise;
  }

  /** Breaks every connection. */
  cut(): void {
    this.#server.closeAllConnections();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

export const someId = '1f0c1f0c-0000-4000-8000-000000000001';
export const someProcess = '9a3e9a3e-0000-4000-8000-000000000001';
