import { createMcpHandler } from '@modelcontextprotocol/server';
import type { McpHttpHandler, ServerEvent, ServerEventBus } from '@modelcontextprotocol/server';
import type { Log } from '../../base/log.ts';
import type { JsonObject, JsonRpcNotification } from '../../domain/json-rpc.ts';
import type { McpConnection } from '../../engine/mcp/connection.ts';
import type { HostedServer, Member } from './hosted-server.ts';
import { requestClient } from './modern-client.ts';
import type { Exchange } from './modern-client.ts';
import { presentedBy } from './modern-server.ts';
import { rpcErrorResponse } from './rpc-error.ts';
import { staleLists } from './stale-lists.ts';

const maxStreams = 5_000;
const subscribeMs = 30_000;

/**
 * `subscriptions/listen`: how clients of 2026-07-28 hear what is told to everybody. The SDK keeps the stream and
 * filters; each stream has a bus of its own, since each is a client of its own to the program, with its own
 * subscriptions, which go with it.
 */
export class Listening implements Disposable {
  readonly #log: Log;
  readonly #heartbeatMs: number;
  readonly #open = new Set<McpHttpHandler>();

  constructor(log: Log, heartbeatMs: number) {
    this.#log = log;
    this.#heartbeatMs = heartbeatMs;
  }

  get count(): number {
    return this.#open.size;
  }

  async handle(request: Request, exchange: Exchange, hosted: HostedServer): Promise<Response> {
    if (this.#open.size >= maxStreams) return tooMany();
    const bus = new HostedBus(hosted, exchange, this.#log, () => {
      this.#open.delete(handler);
    });
    const handler = createMcpHandler(() => presentedBy(exchange.connection.introduction), {
      legacy: 'reject',
      keepAliveMs: this.#heartbeatMs,
      bus,
      onerror: (error) => {
        this.#log.debug('mcp subscription', { err: error });
      },
    });
    bus.close = () => {
      void handler.close();
    };
    const response = await handler.fetch(request, { parsedBody: exchange.body });
    if (bus.isInUse) this.#open.add(handler);
    return response;
  }

  /** Each stream is told that it has ended. */
  [Symbol.dispose](): void {
    for (const handler of [...this.#open]) void handler.close();
  }
}

/** Brings what one program after the other tells everybody onto one stream. */
class HostedBus implements ServerEventBus, Member {
  readonly caller;
  readonly client;
  readonly #hosted: HostedServer;
  readonly #log: Log;
  readonly #over: () => void;
  readonly #uris: readonly string[];
  readonly #listeners = new Set<(event: ServerEvent) => void>();
  #membership: Disposable | undefined;
  close: () => void = () => undefined;

  constructor(hosted: HostedServer, { caller, body }: Exchange, log: Log, over: () => void) {
    this.caller = caller;
    this.client = requestClient(body, (notice) => {
      const event = eventOf(notice);
      if (event) this.publish(event);
    });
    this.#hosted = hosted;
    this.#log = log;
    this.#over = over;
    this.#uris = subscribedIn(body);
  }

  get isInUse(): boolean {
    return this.#membership !== undefined;
  }

  publish(event: ServerEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  subscribe(listener: (event: ServerEvent) => void): () => void {
    this.#listeners.add(listener);
    this.#membership ??= this.#hosted.join(this);
    return () => {
      this.#listeners.delete(listener);
      this.#membership?.[Symbol.dispose]();
      this.#membership = undefined;
      this.#over();
    };
  }

  attached(connection: McpConnection, changed: boolean): void {
    for (const uri of this.#uris) this.#subscribeTo(connection, uri);
    if (!changed) return;
    for (const event of staleLists(connection.introduction).map(eventOf)) {
      if (event) this.publish(event);
    }
  }

  expelled(): void {
    this.close();
  }

  #subscribeTo(connection: McpConnection, uri: string): void {
    const { ended: signal } = connection;
    const options = { client: this.client, signal, timeoutMs: subscribeMs };
    connection
      .call({ method: 'resources/subscribe', params: { uri } }, options)
      .catch((error: unknown) => {
        this.#log.debug('mcp subscription', { err: error });
      });
  }
}

const kinds = {
  'notifications/tools/list_changed': 'tools_list_changed',
  'notifications/prompts/list_changed': 'prompts_list_changed',
  'notifications/resources/list_changed': 'resources_list_changed',
} as const;

function eventOf({ method, params }: JsonRpcNotification): ServerEvent | undefined {
  const given = params && { params: { ...params } };
  if (method === 'notifications/resources/updated') {
    return { kind: 'resource_updated', uri: String(params?.['uri']), ...given };
  }
  return method in kinds ? { kind: kinds[method as keyof typeof kinds], ...given } : undefined;
}

function subscribedIn(body: unknown): readonly string[] {
  const { params } = body as { params?: { notifications?: JsonObject } };
  const uris = params?.notifications?.['resourceSubscriptions'];
  return Array.isArray(uris) ? uris.filter((uri) => typeof uri === 'string') : [];
}

function tooMany(): Response {
  return rpcErrorResponse(200, { code: -32_000, message: 'too many subscriptions are open' }, null);
}
