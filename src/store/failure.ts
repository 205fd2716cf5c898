import { reasonOf } from '../base/reason.ts';
import { EmergentError } from '../domain/errors.ts';

/**
 * Gives a driver's error its meaning for callers. A database that cannot serve is `store_unavailable`, a value
 * it cannot hold is `invalid_value`; anything else is a fault of this program and passes through unchanged.
 */
export function databaseFailure(error: unknown): unknown {
  if (error instanceof EmergentError) return error;
  const state = sqlState(error);
  if (state === undefined || cannotServe(state)) return storeUnavailable(error);
  if (state.startsWith('22')) {
    return new EmergentError(
      'invalid_value',
      `the database cannot hold this value: ${reasonOf(error)}`,
      {
        cause: error,
      },
    );
  }
  return error;
}

export function storeUnavailable(error: unknown, hint?: string): EmergentError {
  return new EmergentError('store_unavailable', `the database is not available: ${reason(error)}`, {
    cause: error,
    ...(hint === undefined ? {} : { hint }),
  });
}

/**
 * Only an answer of the database carries a severity and an SQLSTATE. Whatever else a driver throws (a refused
 * connection, a timeout, a closed pool) means that no answer came.
 */
function sqlState(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('severity' in error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** https://www.postgresql.org/docs/current/errcodes-appendix.html */
const cannotServeClasses = new Set([
  '08', // connection exception
  '28', // authentication refused
  '3D', // no such database
  '40', // transaction rolled back: serialisation, deadlock
  '53', // out of disk, memory or connections
  '57', // shut down, starting up, statement timeout
  '58', // input/output error of the server's host
]);
const cannotServeCodes = new Set([
  '25006', // read-only: a replica
  '55P03', // lock not available
]);

function cannotServe(state: string): boolean {
  return cannotServeClasses.has(state.slice(0, 2)) || cannotServeCodes.has(state);
}

/** A host name with several addresses fails with one error for each and no message of its own. */
function reason(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') {
    return error.errors.map((each) => reasonOf(each)).join('; ');
  }
  return reasonOf(error);
}
