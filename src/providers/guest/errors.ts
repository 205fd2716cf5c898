import { Code, ConnectError } from '@connectrpc/connect';
import { DeadlineError } from '../../base/deadline.ts';
import { reasonOf } from '../../base/reason.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import { isNotRunning } from './not-running.ts';

/** What the agent's refusals mean to our callers; everything else is a sandbox that cannot be reached. */
const meanings: Partial<Record<Code, ErrorCode>> = {
  [Code.InvalidArgument]: 'invalid_value',
  [Code.NotFound]: 'invalid_value',
  [Code.PermissionDenied]: 'invalid_value',
  [Code.AlreadyExists]: 'invalid_value',
  [Code.Aborted]: 'interrupted',
  [Code.FailedPrecondition]: 'wrong_state',
  [Code.ResourceExhausted]: 'provider_failed',
  [Code.DeadlineExceeded]: 'deadline_exceeded',
};

export function toEmergentError(error: unknown, doing: string): Error {
  if (error instanceof EmergentError || error instanceof DeadlineError) return error;
  if (error instanceof ConnectError) {
    if (error.cause instanceof EmergentError) return error.cause;
    const code = meanings[error.code] ?? 'sandbox_unreachable';
    return new EmergentError(code, `${doing}: ${error.rawMessage}`, { cause: error });
  }
  return new EmergentError('sandbox_unreachable', `${doing}: ${reasonOf(error)}`, { cause: error });
}

const linkFailures: readonly ErrorCode[] = ['sandbox_unreachable', 'provider_unavailable'];

/** Why the sandbox could not be called, without the wrapping of the libraries in between. */
export function linkFailureReason(error: unknown): string {
  return toEmergentError(error, 'calling the sandbox agent').message;
}

/** The link broke, as opposed to an answer that says no, and to a sandbox that is known not to run. */
export function isLinkFailure(error: unknown): boolean {
  const known = toEmergentError(error, 'calling the sandbox agent');
  if (!(known instanceof EmergentError) || isNotRunning(known)) return false;
  return linkFailures.includes(known.code);
}

/** A call that the agent does not know: a sandbox keeps the agent that it was made with. */
export function unlessOlder(error: unknown): unknown {
  if (!(error instanceof ConnectError) || error.code !== Code.Unimplemented) return error;
  const message = 'the agent in the sandbox is of an earlier version';
  return new EmergentError('unsupported', message, { cause: error });
}
