import type { EventList, WorkspaceEvent } from './api-types.ts';
import { eventAnswer } from './event-answer.ts';
import type { EventData } from './event-data.ts';
import type { Transport } from './transport.ts';

export interface EventFilter {
  readonly workspace_id?: string;
  /** Separated by commas. */
  readonly type?: string;
}

/** The part of the API about what happened. */
export class EventClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The newest, newest first. */
  async newest(filter: EventFilter, limit: number): Promise<EventList> {
    return (await this.#transport.json({
      method: 'GET',
      path: '/events',
      query: { ...filter, limit: String(limit) },
    })) as EventList;
  }

  /** What happens behind `after`, without end; without it, what happens from now on. */
  async follow(
    filter: EventFilter,
    after: number | undefined,
    signal: AbortSignal,
  ): Promise<AsyncIterable<WorkspaceEvent>> {
    const answer = await this.#transport.open({
      method: 'GET',
      path: '/events',
      query: { ...filter, after: after === undefined ? undefined : String(after) },
      accept: 'text/event-stream',
      signal,
    });
    return eventAnswer(answer, parse, () => false, this.#transport.origin, signal);
  }
}

function parse(_event: string, data: EventData): WorkspaceEvent {
  return data as unknown as WorkspaceEvent;
}
