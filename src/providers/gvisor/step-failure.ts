import { EmergentError } from '../../domain/errors.ts';

/** Steps that failed and could not be undone fail as the first of them, with every reason in the message. */
export function stepFailure(error: unknown): unknown {
  if (!(error instanceof AggregateError)) return error;
  const [first] = error.errors as readonly unknown[];
  const code = first instanceof EmergentError ? first.code : 'provider_failed';
  return new EmergentError(code, error.message, { cause: error });
}
