import { DeadlineError } from '../../base/deadline.ts';
import { reasonOf } from '../../base/reason.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import type { Workspace } from '../../domain/workspace.ts';

export function notFound(id: string): EmergentError {
  return new EmergentError('workspace_not_found', `there is no workspace ${id}`);
}

const remedies: Partial<Record<Workspace['status'], string>> = {
  creating: 'Wait until it is ready, or destroy it.',
  stopping: 'Wait until it is stopped, then resume it.',
  stopped: 'Resume it first: `emergent resume`.',
  resuming: 'Wait until it is ready.',
  error: 'Try `emergent recover`, or destroy it.',
  destroying: 'It is on its way out; create another one.',
};

export function wrongState(workspace: Workspace): EmergentError {
  const { id, status, statusReason } = workspace;
  const why = statusReason === null ? '' : `: ${statusReason}`;
  const hint = remedies[status];
  return new EmergentError('wrong_state', `workspace ${id} is ${status}${why}`, {
    details: { status },
    ...(hint !== undefined && { hint }),
  });
}

export function limitReached(limit: number, running: number): EmergentError {
  return new EmergentError(
    'limit_reached',
    `the limit of ${String(limit)} concurrent workspaces has been reached`,
    { details: { limit, running } },
  );
}

/** May be over in a minute, unlike an image that is missing or files that are lost. */
const passing: readonly ErrorCode[] = [
  'provider_unavailable',
  'registry_unavailable',
  'sandbox_unreachable',
  'deadline_exceeded',
  'store_unavailable',
  'shutting_down',
];

export function isPassing(error: unknown): boolean {
  if (error instanceof DeadlineError) return true;
  return error instanceof EmergentError && passing.includes(error.code);
}

/** A change that failed, but is not given up: the reconciler goes on with it. */
export function goesOn(error: unknown, doing: string): EmergentError {
  const code = error instanceof EmergentError ? error.code : 'provider_failed';
  const timedOut = error instanceof DeadlineError;
  return new EmergentError(timedOut ? 'deadline_exceeded' : code, `${doing}: ${reasonOf(error)}`, {
    hint: 'The server goes on trying by itself; `emergent get` shows how far it is.',
    cause: error,
    ...(error instanceof EmergentError && error.details && { details: error.details }),
  });
}
