import { jsonRpcErrors } from '../../../domain/json-rpc.ts';
import type { JsonRpcOutcome } from '../../../domain/json-rpc.ts';
import { bridgeBounds } from './bounds.ts';

/** Tells the program about one resource. */
export type TellSubscription = (
  method: 'resources/subscribe' | 'resources/unsubscribe',
  uri: string,
) => Promise<JsonRpcOutcome>;

interface Subscription {
  readonly holders: Set<string>;
  /** As the program knows it. */
  held: boolean;
  /** The tellings so far, one after the other; never rejects. */
  last: Promise<unknown>;
}

const done: JsonRpcOutcome = { result: {} };

/** Who wants to hear of which resource. The program is told of the first and of the last who does. */
export class Subscriptions {
  readonly #tell: TellSubscription;
  readonly #byUri = new Map<string, Subscription>();

  constructor(tell: TellSubscription) {
    this.#tell = tell;
  }

  get uris(): readonly string[] {
    return [...this.#byUri].filter(([, { holders }]) => holders.size > 0).map(([uri]) => uri);
  }

  async subscribe(clientId: string, uri: string): Promise<JsonRpcOutcome> {
    if (this.#countOf(clientId) >= bridgeBounds.subscriptionsPerClient) return tooMany;
    const subscription = this.#byUri.get(uri) ?? {
      holders: new Set(),
      held: false,
      last: Promise.resolve(),
    };
    this.#byUri.set(uri, subscription);
    subscription.holders.add(clientId);
    let outcome: JsonRpcOutcome | null = null;
    try {
      outcome = await this.#sync(uri, subscription);
      return outcome;
    } finally {
      if (!outcome || 'error' in outcome) this.#leave(clientId, uri, subscription);
    }
  }

  async unsubscribe(clientId: string, uri: string): Promise<JsonRpcOutcome> {
    const subscription = this.#byUri.get(uri);
    if (!subscription?.holders.delete(clientId)) return done;
    return await this.#sync(uri, subscription);
  }

  /** Nobody waits for the program to be told. */
  detached(clientId: string): void {
    for (const [uri, subscription] of this.#byUri) this.#leave(clientId, uri, subscription);
  }

  /** Who hears of this update; it may be of something below what was subscribed to. */
  holdersOf(updated: string): ReadonlySet<string> {
    const subscriptions = [...this.#byUri].filter(([uri]) => isWithin(updated, uri));
    return new Set(subscriptions.flatMap(([, { holders }]) => [...holders]));
  }

  #leave(clientId: string, uri: string, subscription: Subscription): void {
    if (!subscription.holders.delete(clientId)) return;
    this.#sync(uri, subscription).catch(() => undefined);
  }

  #countOf(clientId: string): number {
    return this.#byUri
      .values()
      .reduce((sum, { holders }) => sum + Number(holders.has(clientId)), 0);
  }

  #sync(uri: string, subscription: Subscription): Promise<JsonRpcOutcome> {
    const telling = subscription.last.then(() => this.#tellIfChanged(uri, subscription));
    subscription.last = telling.catch(() => undefined);
    return telling;
  }

  async #tellIfChanged(uri: string, subscription: Subscription): Promise<JsonRpcOutcome> {
    const wanted = subscription.holders.size > 0;
    if (wanted === subscription.held) {
      this.#forget(uri, subscription);
      return done;
    }
    // One that could not be ended counts as ended: nobody hears it, and the next to ask tells the program again.
    subscription.held = false;
    try {
      const method = wanted ? 'resources/subscribe' : 'resources/unsubscribe';
      const outcome = await this.#tell(method, uri);
      subscription.held = wanted && 'result' in outcome;
      return outcome;
    } finally {
      this.#forget(uri, subscription);
    }
  }

  #forget(uri: string, subscription: Subscription): void {
    const used = subscription.held || subscription.holders.size > 0;
    if (!used && this.#byUri.get(uri) === subscription) this.#byUri.delete(uri);
  }
}

const tooMany: JsonRpcOutcome = {
  error: {
    code: jsonRpcErrors.invalidRequest,
    message: `a client may subscribe to ${String(bridgeBounds.subscriptionsPerClient)} resources`,
  },
};

function isWithin(uri: string, parent: string): boolean {
  return uri === parent || uri.startsWith(parent.endsWith('/') ? parent : `${parent}/`);
}
