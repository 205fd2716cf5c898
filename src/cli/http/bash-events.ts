import type { IncomingMessage } from 'node:http';
import type { BashEvent, BashResult } from './api-types.ts';
import { eventAnswer } from './event-answer.ts';
import { bytesOf } from './event-data.ts';
import type { EventData } from './event-data.ts';

/**
 * The events of a running command, ending with its result. Fails when the stream ends before that: then
 * nobody knows what became of the command. Stopping early closes the connection, and the server ends it.
 */
export function bashEvents(
  answer: IncomingMessage,
  origin: string,
  signal: AbortSignal,
): AsyncGenerator<BashEvent> {
  return eventAnswer(answer, parse, ({ type }) => type === 'result', origin, signal);
}

function parse(event: string, data: EventData): BashEvent | undefined {
  switch (event) {
    case 'start':
      return { type: 'start', processId: String(data['process_id']) };
    case 'stdout':
    case 'stderr':
      return { type: event, data: bytesOf(data) };
    case 'result':
      return { type: 'result', result: data as unknown as BashResult };
    default:
      return undefined;
  }
}
