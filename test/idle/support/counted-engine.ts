import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { join as joined } from '../../chaos/join-streams.ts';

const requestLine = /^(?:GET|HEAD|POST|PUT|DELETE) \//;

/** Another way to this host's engine, which counts what it is asked. */
export class CountedEngine implements AsyncDisposable {
  readonly dockerHost: string;
  requests = 0;
  readonly #server = createServer((incoming) => {
    incoming.on('data', (chunk) => {
      if (requestLine.test(chunk.toString('latin1'))) this.requests += 1;
    });
    joined(incoming, connect(this.#engine));
    this.#open.add(incoming);
    incoming.once('close', () => this.#open.delete(incoming));
  });
  readonly #open = new Set<Socket>();
  readonly #engine: string;

  static async start(engine = '/var/run/docker.sock'): Promise<CountedEngine> {
    const counted = new CountedEngine(engine);
    await once(counted.#server, 'listening');
    return counted;
  }

  private constructor(engine: string) {
    const socket = join(tmpdir(), `counted-${randomUUID()}.sock`);
    this.#engine = engine;
    this.dockerHost = `unix://${socket}`;
    this.#server.listen(socket);
  }

  /** Breaks what is open. */
  hangUp(): void {
    for (const incoming of this.#open) incoming.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
  }
}
