import type { WorkspaceEvent } from '../http/api-types.ts';
import type { ApiClient } from '../http/client.ts';
import type { EventFilter } from '../http/event-client.ts';
import { reconnecting } from './reconnect.ts';
import type { ReconnectOptions } from './reconnect.ts';

/**
 * The last `past` events, oldest first, then what happens, each once. Following begins behind the oldest of the
 * past, not the newest: an event may become visible after one with a higher number.
 */
export async function* followEvents(
  client: ApiClient,
  filter: EventFilter,
  past: number,
  options: ReconnectOptions,
): AsyncGenerator<WorkspaceEvent> {
  const { items } = past > 0 ? await client.events.newest(filter, past) : { items: [] };
  const seen = new Set(items.map(({ id }) => id));
  let after = items.at(-1)?.id;
  yield* items.toReversed();
  const open = (): Promise<AsyncIterable<WorkspaceEvent>> =>
    client.events.follow(filter, after, options.signal);
  for await (const event of reconnecting(open, options, past > 0)) {
    after = event.id;
    if (!seen.delete(event.id)) yield event;
  }
}
