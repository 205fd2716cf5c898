import type { IncomingMessage } from 'node:http';
import { abortReason } from '../../base/clock.ts';
import { DeadlineError } from '../../base/deadline.ts';
import { reasonOf } from '../../base/reason.ts';
import { Failure, systemCode } from '../failure.ts';

const startHint = 'Is the server running? Start it with: npm start';

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'the name cannot be resolved',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'the network is unreachable',
  ETIMEDOUT: 'timed out',
};

const lost = new Set(['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE', 'ECONNABORTED']);

/** What the user is told when a request could not be made or got no answer. */
export function asFailure(error: unknown, origin: string, signal?: AbortSignal): Error {
  if (signal?.aborted) return abortReason(signal);
  if (error instanceof Failure) return error;
  const code = systemCode(error);
  if (error instanceof DeadlineError && error.what.startsWith('the answer')) {
    return new Failure(
      'no_answer',
      `no answer from ${origin} within ${String(error.ms / 1000)} s`,
      {
        hint: 'The host may be overloaded; try again, and see the log of the server.',
        cause: error,
      },
    );
  }
  if (code !== undefined && lost.has(code)) return connectionLost(origin, error);
  if (code?.startsWith('HPE_') === true) {
    return new Failure('not_http', `${origin} does not speak HTTP`, {
      hint: 'Check EMERGENT_URL or --url.',
      cause: error,
    });
  }
  const reason = (code !== undefined ? reasons[code] : undefined) ?? reasonOf(error);
  return new Failure('unreachable', `cannot reach the server at ${origin} (${reason})`, {
    hint: startHint,
    cause: error,
  });
}

/** The connection broke after the request was under way: what became of it is unknown. */
export function connectionLost(origin: string, cause?: unknown): Failure {
  return new Failure('connection_lost', `the connection to ${origin} was lost`, {
    hint: 'See the log of the server; `emergent list` shows what is there now.',
    cause,
  });
}

/** The Failure behind an answer that is not a success; `text` is its body. */
export function refusal(answer: IncomingMessage, text: string, tokenSource: string): Failure {
  const status = String(answer.statusCode ?? 0);
  const error = parseErrorBody(text);
  if (!error) {
    return new Failure('unexpected_answer', `the server answered with status ${status}`, {
      hint: 'Is this an Emergent server? Check EMERGENT_URL or --url.',
    });
  }
  const unauthenticated = error.code === 'unauthenticated';
  return new Failure(
    error.code,
    unauthenticated ? `the server refused the token from ${tokenSource}` : error.message,
    {
      ...(error.hint !== undefined && { hint: error.hint }),
      ...(unauthenticated && { hint: 'Set EMERGENT_TOKEN to a token of this server.' }),
      ...(error.details !== undefined && { details: error.details }),
      ...(error.request_id !== undefined && { requestId: error.request_id }),
    },
  );
}

interface ErrorBody {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  readonly details?: unknown;
  readonly request_id?: string;
}

function parseErrorBody(text: string): ErrorBody | undefined {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return undefined;
  }
  return errorIn(body);
}

/** The error in `{"error":{code,message,…}}`, as answers and `error` events carry it. */
export function errorIn(body: unknown): ErrorBody | undefined {
  if (typeof body !== 'object' || body === null || !('error' in body)) return undefined;
  const { error } = body;
  if (typeof error !== 'object' || error === null) return undefined;
  if (!('code' in error) || typeof error.code !== 'string') return undefined;
  if (!('message' in error) || typeof error.message !== 'string') return undefined;
  return error as ErrorBody;
}
