import type { JsonRpcRequest } from '../../domain/json-rpc.ts';

const maxSubscriptions = 1_000;

/** What a client wanted of a program beyond the moment, to be said again to the program that follows it. */
export class Wishes {
  readonly #subscriptions = new Map<string, JsonRpcRequest>();
  #level: JsonRpcRequest | undefined;

  /** To be told of every request that a program has granted. */
  granted(request: JsonRpcRequest): void {
    const uri = String(request.params?.['uri']);
    if (request.method === 'logging/setLevel') this.#level = request;
    else if (request.method === 'resources/unsubscribe') this.#subscriptions.delete(uri);
    else if (request.method === 'resources/subscribe') this.#subscribed(uri, request);
  }

  renew(ask: (request: JsonRpcRequest) => void): void {
    if (this.#level) ask(this.#level);
    for (const request of this.#subscriptions.values()) ask(request);
  }

  #subscribed(uri: string, request: JsonRpcRequest): void {
    if (this.#subscriptions.size < maxSubscriptions) this.#subscriptions.set(uri, request);
  }
}
