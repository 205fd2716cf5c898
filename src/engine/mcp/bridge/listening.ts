import type { Clock } from '../../../base/clock.ts';
import type { Log } from '../../../base/log.ts';
import type { JsonObject, JsonRpcRequest } from '../../../domain/json-rpc.ts';
import { bridgeBounds } from './bounds.ts';
import { isObject } from './messages.ts';
import { Timeout } from './timeout.ts';

export interface ListeningOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly newId: () => number;
  /** False: the program does not read. */
  readonly request: (id: number, request: JsonRpcRequest) => boolean;
  /** The program is told that nobody listens under this id any more. */
  readonly cancel: (id: number) => void;
  /** What is to be heard now; null: nothing. */
  readonly wanted: () => JsonObject | null;
}

interface Opening {
  readonly id: number;
  readonly timeout: Timeout;
}

/**
 * The one `subscriptions/listen` through which a program of the newer revision says what has changed. When others are to
 * be heard, a new one is opened first, and the old one ended once the program has acknowledged it: what comes in between
 * bears both ids and is heard once.
 */
export class Listening {
  readonly #options: ListeningOptions;
  #open: number | null = null;
  #opening: Opening | null = null;
  /** What the program was asked for last; undefined where it has refused that, so the next change asks again. */
  #asked: string | null | undefined = null;
  #refused = false;
  readonly #waiting = new Set<(heard: boolean) => void>();

  constructor(options: ListeningOptions) {
    this.#options = options;
  }

  /** Somebody came or went, or wants to hear of something else. True once the program knows, false where it refuses. */
  async changed(): Promise<boolean> {
    this.#follow();
    if (!this.#opening) return !this.#refused;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#waiting.add(resolve);
    return await promise;
  }

  acknowledged(id: number): void {
    if (this.#opening?.id !== id) return;
    this.#replace(id);
    this.#endOpening(false);
  }

  /** True: the answer was to this; there is one only when the program refuses, or ends it. */
  answered(id: number): boolean {
    if (this.#opening?.id === id) {
      this.#options.log.debug('the MCP server does not say what changes');
      this.#endOpening(true);
      return true;
    }
    if (this.#open !== id) return false;
    this.#open = null;
    return true;
  }

  isOpen(id: number): boolean {
    return this.#open === id;
  }

  close(): void {
    this.#opening?.timeout[Symbol.dispose]();
    this.#opening = null;
    this.#settle();
  }

  #follow(): void {
    if (this.#opening) return;
    const wanted = this.#options.wanted();
    const asked = wanted && JSON.stringify(wanted);
    if (asked === this.#asked) return;
    this.#asked = asked;
    this.#refused = false;
    if (wanted) this.#begin(wanted);
    else this.#replace(null);
  }

  #begin(wanted: JsonObject): void {
    const id = this.#options.newId();
    const timeout = new Timeout(this.#options.clock, bridgeBounds.ownCallTimeoutMs, () => {
      this.#options.cancel(id);
      this.answered(id);
    });
    this.#opening = { id, timeout };
    const params = { notifications: wanted };
    if (this.#options.request(id, { method: 'subscriptions/listen', params })) return;
    timeout[Symbol.dispose]();
    this.#opening = null;
    this.#asked = undefined;
    this.#refused = true;
  }

  /** What is wanted may have changed meanwhile; what was just refused is not asked for at once. */
  #endOpening(refused: boolean): void {
    this.#opening?.timeout[Symbol.dispose]();
    this.#opening = null;
    this.#refused = refused;
    this.#follow();
    if (this.#refused) this.#asked = undefined;
    this.#settle();
  }

  #settle(): void {
    if (this.#opening) return;
    for (const resolve of this.#waiting) resolve(!this.#refused);
    this.#waiting.clear();
  }

  #replace(id: number | null): void {
    if (this.#open !== null) this.#options.cancel(this.#open);
    this.#open = id;
  }
}

/** What a program can tell by what it has said of itself, and of that what somebody wants; null: nothing. */
export function listenFilter(
  capabilities: JsonObject,
  clients: number,
  uris: readonly string[],
): JsonObject | null {
  const can = (name: string, what: string): boolean => {
    const capability = capabilities[name];
    return isObject(capability) && capability[what] === true;
  };
  if (clients === 0) return null;
  const filter = {
    ...(can('tools', 'listChanged') && { toolsListChanged: true }),
    ...(can('prompts', 'listChanged') && { promptsListChanged: true }),
    ...(can('resources', 'listChanged') && { resourcesListChanged: true }),
    ...(can('resources', 'subscribe') && uris.length > 0 && { resourceSubscriptions: uris }),
  };
  return Object.keys(filter).length > 0 ? filter : null;
}
