import type { Log } from '../../../base/log.ts';
import type { JsonRpcNotification } from '../../../domain/json-rpc.ts';
import type { McpClient } from '../connection.ts';
import type { Call } from './calls.ts';
import type { LogLevels } from './log-levels.ts';
import type { Subscriptions } from './subscriptions.ts';

export interface AudienceOptions {
  readonly levels: LogLevels;
  readonly subscriptions: Subscriptions;
  readonly inFlight: () => Iterable<Call>;
  readonly onChanged: () => void;
  readonly log: Log;
}

/** Who is attached, and who of them hears what. */
export class Audience {
  readonly #options: AudienceOptions;
  readonly #attached = new Map<string, { readonly client: McpClient; times: number }>();

  constructor(options: AudienceOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#attached.size;
  }

  has(clientId: string): boolean {
    return this.#attached.has(clientId);
  }

  attach(client: McpClient): Disposable {
    const known = this.#attached.get(client.id);
    if (known) known.times += 1;
    else this.#come(client);
    let attached = true;
    return {
      [Symbol.dispose]: () => {
        if (attached) this.#leave(client.id);
        attached = false;
      },
    };
  }

  hear(notification: JsonRpcNotification): void {
    for (const client of this.#hearersOf(notification)) this.#tell(client, notification);
  }

  #come(client: McpClient): void {
    this.#attached.set(client.id, { client, times: 1 });
    this.#options.levels.attached(client.id);
    this.#options.onChanged();
  }

  #leave(clientId: string): void {
    const known = this.#attached.get(clientId);
    if (!known) return;
    known.times -= 1;
    if (known.times > 0) return;
    this.#attached.delete(clientId);
    this.#options.levels.detached(clientId);
    this.#options.subscriptions.detached(clientId);
    this.#options.onChanged();
  }

  #hearersOf({ method, params }: JsonRpcNotification): readonly McpClient[] {
    if (method === 'notifications/resources/updated') {
      const uri = params?.['uri'];
      const holders = this.#options.subscriptions.holdersOf(typeof uri === 'string' ? uri : '');
      return this.#all().filter(({ id }) => holders.has(id));
    }
    if (method !== 'notifications/message') return this.#all();
    const level = params?.['level'];
    const calling = this.#calling();
    const hearers = calling.length > 0 ? calling : this.#all();
    return hearers.filter(({ id }) => this.#options.levels.hears(id, level));
  }

  #all(): readonly McpClient[] {
    return [...this.#attached.values()].map(({ client }) => client);
  }

  /** A log message is most likely about a call that is in flight. */
  #calling(): readonly McpClient[] {
    const clients = new Map<string, McpClient>();
    for (const { client } of this.#options.inFlight()) if (client) clients.set(client.id, client);
    return [...clients.values()];
  }

  #tell(client: McpClient, notification: JsonRpcNotification): void {
    try {
      client.notify?.(notification);
    } catch (error) {
      this.#options.log.warn('a client of an MCP server could not be notified', { err: error });
    }
  }
}
