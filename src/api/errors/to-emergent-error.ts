import { DeadlineError } from '../../base/deadline.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { ErrorCode } from '../../domain/errors.ts';

/** What fastify itself raises on a caller's request, with words for the caller. */
const frameworkErrors: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [
    'unsupported_media_type',
    'this route does not take a body of this Content-Type',
  ],
  FST_ERR_CTP_BODY_TOO_LARGE: ['body_too_large', 'the body is too large'],
  FST_ERR_BAD_URL: [
    'malformed_request',
    'the path holds a percent-encoding that cannot be decoded',
  ],
  FST_ERR_MAX_PARAM_LENGTH: ['bad_id', 'a part of the path is too long'],
};

/** Any failure as one that a caller can be told; what nobody foresaw becomes `internal`, without its words. */
export function toEmergentError(error: unknown): EmergentError {
  if (error instanceof EmergentError) return error;
  if (error instanceof DeadlineError) {
    return new EmergentError('deadline_exceeded', error.message, { cause: error });
  }
  const known = frameworkErrors[codeOf(error)];
  if (known) return new EmergentError(known[0], known[1], { cause: error });
  return new EmergentError('internal', 'the server failed to answer this request', {
    cause: error,
  });
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
