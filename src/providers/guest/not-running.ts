import { EmergentError } from '../../domain/errors.ts';

/**
 * What a dial answers for a sandbox that is known not to run, as opposed to one that cannot be reached at the
 * moment: dialling again does not help.
 */
export function notRunning(sandbox: string, how: string, cause?: unknown): EmergentError {
  return new EmergentError('sandbox_unreachable', `${sandbox} ${how}`, {
    details: { running: false },
    cause,
  });
}

export function isNotRunning(error: unknown): boolean {
  return error instanceof EmergentError && error.details?.['running'] === false;
}
