import { Bell } from '../base/bell.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { Troubles } from '../base/troubles.ts';
import { untilAborted } from '../base/until-aborted.ts';
import type { Caller } from '../domain/caller.ts';
import { EmergentError } from '../domain/errors.ts';
import type { EventQuery, WorkspaceEvent } from '../domain/events.ts';
import type { EventStore } from '../domain/store.ts';
import type { EventOperations } from './engine.ts';

export interface EventsOptions {
  readonly store: Pick<EventStore, 'list' | 'newestId'>;
  readonly clock: Clock;
  readonly log: Log;
}

const pageSize = 200;
/** For events that another server has written, and to try again after an outage. */
const lookAgainMs = 500;

/**
 * The event log as callers see it. A follower keeps nothing but its place in the log and reads from there, a
 * page at a time, as fast as its own reader takes them: a slow one holds back nobody and fills no memory.
 */
export class Events implements EventOperations, Disposable {
  readonly #store: EventsOptions['store'];
  readonly #clock: Clock;
  readonly #written = new Bell();
  readonly #stop = new AbortController();
  readonly #troubles: Troubles;

  constructor({ store, clock, log }: EventsOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#troubles = new Troubles(log);
  }

  /** This server has written an event: followers need not wait for their next look. */
  wake(): void {
    this.#written.ring();
  }

  async list(caller: Caller, query: Omit<EventQuery, 'owner'>): Promise<readonly WorkspaceEvent[]> {
    return this.#store.list({ ...query, ...seenBy(caller) });
  }

  follow(
    caller: Caller,
    query: Omit<EventQuery, 'owner' | 'limit'>,
    signal: AbortSignal,
  ): AsyncIterable<WorkspaceEvent> {
    const either = AbortSignal.any([signal, this.#stop.signal]);
    // "From now on" begins with the call, not when the first event is asked for.
    const start =
      query.after === undefined
        ? this.#insist(() => this.#store.newestId(), either)
        : Promise.resolve(query.after);
    start.catch(() => undefined);
    return this.#follow(start, { ...query, ...seenBy(caller), limit: pageSize }, either);
  }

  /** Ends all following. */
  [Symbol.dispose](): void {
    this.#stop.abort(new EmergentError('shutting_down', 'the server is stopping'));
  }

  async *#follow(
    start: Promise<number>,
    query: EventQuery,
    signal: AbortSignal,
  ): AsyncGenerator<WorkspaceEvent, void> {
    try {
      let after = await start;
      for (;;) {
        const heard = this.#written.rings;
        const page = await this.#insist(() => this.#store.list({ ...query, after }), signal);
        for (const event of page) {
          after = event.id;
          yield event;
          if (signal.aborted) return;
        }
        if (page.length === 0) {
          await this.#written.ringAfter(heard, lookAgainMs, this.#clock, signal);
        }
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** Reads until the store answers: an outage delays a follower and does not end it. */
  async #insist<T>(read: () => Promise<T>, signal: AbortSignal): Promise<T> {
    for (;;) {
      try {
        const answer = await untilAborted(read(), signal);
        this.#troubles.over('store', 'events can be read again');
        return answer;
      } catch (error) {
        if (signal.aborted || !isOutage(error)) throw error;
        this.#troubles.note('store', 'events cannot be read; followers wait', error);
        await this.#clock.sleep(lookAgainMs, signal);
      }
    }
  }
}

function seenBy(caller: Caller): { readonly owner?: string } {
  return caller.role === 'admin' ? {} : { owner: caller.tokenId };
}

function isOutage(error: unknown): boolean {
  return error instanceof EmergentError && error.code === 'store_unavailable';
}
