import { Failure } from '../failure.ts';
import { errorIn } from './failures.ts';

/** The data of a server-sent event. */
export type EventData = Readonly<Record<string, unknown>>;

/** Output that is valid UTF-8 comes as text, any other as base64: both give the exact bytes. */
export function bytesOf({ text, base64 }: EventData): Buffer {
  return typeof text === 'string' ? Buffer.from(text) : Buffer.from(String(base64), 'base64');
}

/** What an `error` event tells. */
export function failureOf(data: EventData): Failure {
  const error = errorIn(data);
  if (!error)
    return new Failure('unexpected_answer', 'the server reported an error without a reason');
  return new Failure(error.code, error.message, {
    ...(error.hint !== undefined && { hint: error.hint }),
    ...(error.details !== undefined && { details: error.details }),
    ...(error.request_id !== undefined && { requestId: error.request_id }),
  });
}
