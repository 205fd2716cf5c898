import { jsonRpcErrors } from '../../../domain/json-rpc.ts';
import type { JsonRpcOutcome, JsonRpcRequest } from '../../../domain/json-rpc.ts';
import { isLogLevel } from './log-levels.ts';
import type { LogLevels } from './log-levels.ts';
import type { Subscriptions } from './subscriptions.ts';

export interface SharedMethodsOptions {
  readonly levels: LogLevels;
  readonly subscriptions: Subscriptions;
  readonly isAttached: (clientId: string) => boolean;
}

/** What concerns the connection itself: between the gateway and its clients, or between us and the program. */
const notForClients: ReadonlySet<string> = new Set([
  'initialize',
  'server/discover',
  'subscriptions/listen',
]);

/** Calls that the program does not get as they are, since all clients share what they change. */
export class SharedMethods {
  readonly #options: SharedMethodsOptions;

  constructor(options: SharedMethodsOptions) {
    this.#options = options;
  }

  /** Null: it is an ordinary call. */
  answer(request: JsonRpcRequest, clientId: string): Promise<JsonRpcOutcome> | null {
    const { method } = request;
    if (notForClients.has(method) || method.startsWith('notifications/')) {
      return refuse('invalidRequest', `${method} is not passed on to a shared server`);
    }
    switch (method) {
      case 'logging/setLevel':
        return this.#setLevel(request, clientId);
      case 'resources/subscribe':
      case 'resources/unsubscribe':
        return this.#subscription(request, clientId, method === 'resources/subscribe');
      default:
        return null;
    }
  }

  #setLevel({ params }: JsonRpcRequest, clientId: string): Promise<JsonRpcOutcome> {
    const level = params?.['level'];
    if (!isLogLevel(level)) return refuse('invalidParams', 'level is no level of log messages');
    if (!this.#options.isAttached(clientId)) return refuse('invalidRequest', hearsNothing);
    return this.#options.levels.set(clientId, level);
  }

  #subscription(
    { params }: JsonRpcRequest,
    clientId: string,
    wanted: boolean,
  ): Promise<JsonRpcOutcome> {
    const uri = params?.['uri'];
    if (typeof uri !== 'string') return refuse('invalidParams', 'uri is missing or no text');
    if (!this.#options.isAttached(clientId)) return refuse('invalidRequest', hearsNothing);
    const { subscriptions } = this.#options;
    return wanted
      ? subscriptions.subscribe(clientId, uri)
      : subscriptions.unsubscribe(clientId, uri);
  }
}

const hearsNothing = 'this has a meaning only in a session: a single call hears no notifications';

function refuse(code: keyof typeof jsonRpcErrors, message: string): Promise<JsonRpcOutcome> {
  return Promise.resolve({ error: { code: jsonRpcErrors[code], message } });
}
