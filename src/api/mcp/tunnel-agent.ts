import { Agent } from 'node:http';
import type { ClientRequest } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../base/clock.ts';
import { withDeadline } from '../../base/deadline.ts';
import type { McpHttpTarget } from '../../engine/mcp/operations.ts';

const dialMs = 15_000;
const maxConnections = 256;
const maxIdleConnections = 8;
/** Well below what servers keep an idle connection for: one that they are about to close must not be used again. */
const idleMs = 2_000;

/** Node's pool of connections, over tunnels into a sandbox. */
export class TunnelAgent extends Agent {
  readonly #target: McpHttpTarget;
  readonly #clock: Clock;
  readonly #idle = new WeakMap<Duplex, AbortController>();

  constructor(target: McpHttpTarget, clock: Clock) {
    super({ keepAlive: true, maxSockets: maxConnections, maxFreeSockets: maxIdleConnections });
    this.#target = target;
    this.#clock = clock;
  }

  override createConnection(
    _options: unknown,
    done?: (error: Error | null, stream: Duplex) => void,
  ): null {
    const what = 'the connection to the MCP server';
    withDeadline(what, dialMs, (signal) => this.#target.dial(signal)).then(
      (stream) => done?.(null, likeSocket(stream)),
      (error: unknown) => done?.(error as Error, undefined as unknown as Duplex),
    );
    return null;
  }

  override keepSocketAlive(stream: Duplex): boolean {
    const used = new AbortController();
    this.#idle.set(stream, used);
    stream.once('close', () => {
      used.abort();
    });
    this.#clock.sleep(idleMs, used.signal).then(
      () => stream.destroy(),
      () => undefined,
    );
    super.keepSocketAlive(stream);
    return true;
  }

  override reuseSocket(stream: Duplex, request: ClientRequest): void {
    this.#idle.get(stream)?.abort();
    super.reuseSocket(stream, request);
  }
}

/** What the pool does to every socket that it keeps; a tunnel has nothing that it could be done to. */
const ofSockets = ['setKeepAlive', 'setNoDelay', 'setTimeout', 'ref', 'unref'] as const;

function likeSocket(stream: Duplex): Duplex {
  for (const name of ofSockets) {
    if (!(name in stream)) Object.defineProperty(stream, name, { value: () => stream });
  }
  return stream;
}
