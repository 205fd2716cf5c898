import { SdkHttpError } from '@modelcontextprotocol/client';
import { reasonOf } from '../../base/reason.ts';
import { Failure, systemCode } from '../failure.ts';
import { connectionLost, errorIn } from '../http/failures.ts';
import type { Connection } from '../http/settings.ts';

/** Why a message could not be passed on, and whether it may be tried again. */
export interface SendFailure {
  readonly failure: Failure;
  /**
   * `now`: the session is unknown there and must be begun anew. `later`: the server has not seen the message, or has
   * refused it for a passing reason. `unclear`: it may have acted on it. `never`: the same would happen again.
   */
  readonly again: 'now' | 'later' | 'unclear' | 'never';
}

/** The connection was not even made. */
const neverSent = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Refused before anything was done. */
const passing = new Set(['shutting_down', 'store_unavailable']);

export function sendFailure(error: unknown, way: Connection): SendFailure {
  return error instanceof SdkHttpError ? refused(error, way) : notAnswered(error, way);
}

function refused({ status, data }: SdkHttpError, { tokenSource }: Connection): SendFailure {
  const body = parsed(data['text']);
  const own = errorIn(body);
  if (own) {
    const unauthenticated = own.code === 'unauthenticated';
    const message = unauthenticated
      ? `the server refused the token from ${tokenSource}`
      : own.message;
    const hint = unauthenticated ? 'Set EMERGENT_TOKEN to a token of this server.' : own.hint;
    const failure = new Failure(own.code, message, { ...(hint !== undefined && { hint }) });
    return { failure, again: passing.has(own.code) ? 'later' : 'never' };
  }
  const said = rpcMessageIn(body);
  const failure = new Failure(
    'refused',
    said ?? `the server answered with status ${String(status)}`,
  );
  return { failure, again: status === 404 && said !== undefined ? 'now' : 'never' };
}

function notAnswered(error: unknown, { url }: Connection): SendFailure {
  const { origin } = new URL(url);
  const cause: unknown = error instanceof Error ? (error.cause ?? error) : error;
  const code = systemCode(cause);
  if (code !== undefined && !neverSent.has(code)) {
    return { failure: connectionLost(origin, error), again: 'unclear' };
  }
  const reason = reasonOf(cause);
  const failure = new Failure('unreachable', `cannot reach the server at ${origin} (${reason})`, {
    hint: 'Is the server running? Check EMERGENT_URL or --url.',
    cause: error,
  });
  return { failure, again: code === undefined ? 'never' : 'later' };
}

function parsed(text: unknown): unknown {
  try {
    return typeof text === 'string' ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
}

/** The message of `{"jsonrpc": …, "error": {message}}`. */
function rpcMessageIn(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null || !('error' in body)) return undefined;
  const { error } = body;
  if (typeof error !== 'object' || error === null || !('message' in error)) return undefined;
  return typeof error.message === 'string' ? error.message : undefined;
}
