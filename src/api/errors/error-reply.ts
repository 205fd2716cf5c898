import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../../base/log.ts';
import type { EmergentError } from '../../domain/errors.ts';
import { errorStatus } from '../error-status.ts';
import type { ErrorBody } from '../schemas/error.ts';
import { toEmergentError } from './to-emergent-error.ts';

/** Until a slot is likely to be free: somebody stops or destroys one every few seconds, or nobody does. */
const retryAfterSeconds = 5;

export function errorBodyOf(error: EmergentError, requestId: string): ErrorBody {
  return {
    error: {
      code: error.code,
      message: error.message,
      hint: error.hint,
      ...(error.details && { details: error.details }),
      request_id: requestId,
    },
  };
}

/** Answers a failed request, whatever failed. */
export async function replyError(
  failure: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  log: Log,
): Promise<void> {
  const error = recordFailure(failure, request, log);
  reply.removeHeader('content-length');
  if (error.code === 'unauthenticated') reply.header('www-authenticate', 'Bearer');
  if (error.code === 'limit_reached') reply.header('retry-after', String(retryAfterSeconds));
  await reply
    .code(errorStatus[error.code])
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(errorBodyOf(error, request.id)));
}

/** Keeps the code for the request log; a failure on our side is logged whole, once, here. */
export function recordFailure(failure: unknown, request: FastifyRequest, log: Log): EmergentError {
  const error = toEmergentError(failure);
  request.failure = error.code;
  const status = errorStatus[error.code];
  const fields = { request_id: request.id, code: error.code, err: failure };
  if (error.code === 'internal') log.error('request failed', fields);
  else if (status >= 500) log.warn('request failed', fields);
  return error;
}
