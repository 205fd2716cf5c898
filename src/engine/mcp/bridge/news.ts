import type { Clock } from '../../../base/clock.ts';
import type { Log } from '../../../base/log.ts';
import { jsonRpcErrors } from '../../../domain/json-rpc.ts';
import type {
  JsonObject,
  JsonRpcNotification,
  JsonRpcOutcome,
  JsonRpcRequest,
} from '../../../domain/json-rpc.ts';
import type { McpClient } from '../connection.ts';
import { Audience } from './audience.ts';
import type { Call } from './calls.ts';
import { metaKeys } from './envelope.ts';
import { Listening, listenFilter } from './listening.ts';
import { LogLevels } from './log-levels.ts';
import type { McpLogLevel } from './log-levels.ts';
import { isObject, ownId } from './messages.ts';
import { SharedMethods } from './shared-methods.ts';
import { Subscriptions } from './subscriptions.ts';

export interface NewsOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly inFlight: () => Iterable<Call>;
  readonly newId: () => number;
  /** Whether the program is of the revision that says what changes through `subscriptions/listen`. */
  readonly listens: () => boolean;
  readonly capabilities: () => JsonObject;
  /** On our own account. */
  readonly ask: (request: JsonRpcRequest) => Promise<JsonRpcOutcome>;
  readonly request: (id: number, request: JsonRpcRequest) => boolean;
  readonly cancel: (id: number) => void;
}

const done: JsonRpcOutcome = { result: {} };

/** What the program tells those who are attached, and what they want to be told. */
export class News {
  readonly #options: NewsOptions;
  readonly #levels: LogLevels;
  readonly #subscriptions: Subscriptions;
  readonly #audience: Audience;
  readonly #shared: SharedMethods;
  readonly #listening: Listening;

  constructor(options: NewsOptions) {
    this.#options = options;
    this.#levels = new LogLevels((level) => this.#tellLevel(level));
    this.#subscriptions = new Subscriptions((method, uri) => this.#tellSubscription(method, uri));
    this.#audience = new Audience({
      levels: this.#levels,
      subscriptions: this.#subscriptions,
      inFlight: options.inFlight,
      onChanged: () => {
        if (options.listens()) void this.#listening.changed();
      },
      log: options.log,
    });
    this.#shared = new SharedMethods({
      levels: this.#levels,
      subscriptions: this.#subscriptions,
      isAttached: (clientId) => this.#audience.has(clientId),
    });
    this.#listening = new Listening({
      ...options,
      wanted: () =>
        listenFilter(options.capabilities(), this.#audience.size, this.#subscriptions.uris),
    });
  }

  get clients(): number {
    return this.#audience.size;
  }

  attach(client: McpClient): Disposable {
    return this.#audience.attach(client);
  }

  levelOf(clientId: string): McpLogLevel | null {
    return this.#levels.levelOf(clientId);
  }

  /** Null: it is none of what clients share. */
  answer(request: JsonRpcRequest, clientId: string): Promise<JsonRpcOutcome> | null {
    return this.#shared.answer(request, clientId);
  }

  /** True: it was to something of ours. */
  answered(id: number): boolean {
    return this.#listening.answered(id);
  }

  hear(notification: JsonRpcNotification): void {
    const { method, params } = notification;
    const meta = params?.['_meta'];
    if (!isObject(meta) || !(metaKeys.subscriptionId in meta)) {
      this.#audience.hear(notification);
      return;
    }
    const { [metaKeys.subscriptionId]: subscription, ...others } = meta;
    const id = ownId(subscription);
    if (method === 'notifications/subscriptions/acknowledged') this.#listening.acknowledged(id);
    else if (this.#listening.isOpen(id)) {
      this.#audience.hear({ method, params: { ...params, _meta: others } });
    }
  }

  close(): void {
    this.#listening.close();
  }

  /** In the newer revision it goes with each request. */
  async #tellLevel(level: McpLogLevel): Promise<JsonRpcOutcome> {
    if (this.#options.listens()) return done;
    return await this.#options.ask({ method: 'logging/setLevel', params: { level } });
  }

  async #tellSubscription(method: string, uri: string): Promise<JsonRpcOutcome> {
    if (!this.#options.listens()) return await this.#options.ask({ method, params: { uri } });
    const { resources } = this.#options.capabilities();
    const canTell = isObject(resources) && resources['subscribe'] === true;
    if (canTell && (await this.#listening.changed())) return done;
    const message = `${method}: the server does not say which resources change`;
    return { error: { code: jsonRpcErrors.methodNotFound, message } };
  }
}
