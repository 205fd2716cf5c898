import type { JsonRpcNotification } from '../../domain/json-rpc.ts';

const maxHeld = 256;

/**
 * What a client missed while it was not listening and must know when it listens again: that something it holds is out
 * of date. Said once, however often it was meant; log messages and the like are of their moment and not held.
 */
export class HeldNotices {
  readonly #held = new Map<string, JsonRpcNotification>();

  hold(notice: JsonRpcNotification): void {
    const key = keyOf(notice);
    if (key !== undefined && this.#held.size < maxHeld) this.#held.set(key, notice);
  }

  take(): readonly JsonRpcNotification[] {
    const notices = [...this.#held.values()];
    this.#held.clear();
    return notices;
  }
}

function keyOf({ method, params }: JsonRpcNotification): string | undefined {
  if (method.endsWith('/list_changed')) return method;
  if (method !== 'notifications/resources/updated') return undefined;
  return `${method} ${String(params?.['uri'])}`;
}
