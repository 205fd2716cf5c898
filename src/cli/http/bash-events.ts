import type { IncomingMessage } from 'node:http';
import { Failure } from '../failure.ts';
import type { BashEvent, BashResult } from './api-types.ts';
import { asFailure, connectionLost, errorIn } from './failures.ts';
import { serverEvents } from './server-events.ts';
import type { ServerEvent } from './server-events.ts';

/**
 * The events of a running command, ending with its result. Fails when the stream ends before that: then
 * nobody knows what became of the command. Stopping early closes the connection, and the server ends it.
 */
export async function* bashEvents(
  answer: IncomingMessage,
  origin: string,
  signal: AbortSignal,
): AsyncGenerator<BashEvent> {
  try {
    for await (const raw of serverEvents(answer)) {
      const event = parse(raw);
      if (event) yield event;
      if (event?.type === 'result') return;
    }
  } catch (error) {
    throw asFailure(error, origin, signal);
  } finally {
    answer.destroy();
  }
  throw connectionLost(origin);
}

/** Undefined for kinds of events that a newer server may send. */
function parse({ event, data }: ServerEvent): BashEvent | undefined {
  if (!['start', 'stdout', 'stderr', 'result', 'error'].includes(event)) return undefined;
  const body = JSON.parse(data) as Record<string, unknown>;
  switch (event) {
    case 'start':
      return { type: 'start', pid: Number(body['pid']) };
    case 'stdout':
    case 'stderr':
      return { type: event, data: bytesOf(body) };
    case 'result':
      return { type: 'result', result: body as unknown as BashResult };
    default:
      throw failureOf(body);
  }
}

/** Output that is valid UTF-8 comes as text, any other as base64: both give the exact bytes. */
function bytesOf(body: Record<string, unknown>): Buffer {
  const { text, base64 } = body;
  return typeof text === 'string' ? Buffer.from(text) : Buffer.from(String(base64), 'base64');
}

function failureOf(body: unknown): Failure {
  const error = errorIn(body);
  if (!error)
    return new Failure('unexpected_answer', 'the server reported an error without a reason');
  return new Failure(error.code, error.message, {
    ...(error.hint !== undefined && { hint: error.hint }),
    ...(error.details !== undefined && { details: error.details }),
    ...(error.request_id !== undefined && { requestId: error.request_id }),
  });
}
