import type { IncomingMessage } from 'node:http';
import type { EventData } from './event-data.ts';
import { failureOf } from './event-data.ts';
import { asFailure, connectionLost } from './failures.ts';
import { serverEvents } from './server-events.ts';

/** What an event says; undefined for kinds that a newer server may send. */
export type Parse<T> = (event: string, data: EventData) => T | undefined;

/**
 * The events of an answer, up to and with the one that is `last`. An `error` event, and a stream that ends before
 * its last, are failures. Stopping early closes the connection.
 */
export async function* eventAnswer<T>(
  answer: IncomingMessage,
  parse: Parse<T>,
  isLast: (event: T) => boolean,
  origin: string,
  signal: AbortSignal,
): AsyncGenerator<T> {
  try {
    for await (const { event, data } of serverEvents(answer)) {
      const body = JSON.parse(data) as EventData;
      if (event === 'error') throw failureOf(body);
      const parsed = parse(event, body);
      if (parsed === undefined) continue;
      yield parsed;
      if (isLast(parsed)) return;
    }
  } catch (error) {
    throw asFailure(error, origin, signal);
  } finally {
    answer.destroy();
  }
  throw connectionLost(origin);
}
