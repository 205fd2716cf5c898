import { EmergentError } from './errors.ts';

const detail = 'missing_program';

/** The failure of a start for want of the program itself, as opposed to anything else that is wrong with it. */
export function missingProgram(program: string, message: string, cause: unknown): EmergentError {
  return new EmergentError('invalid_value', message, { details: { [detail]: program }, cause });
}

export function isMissingProgram(error: unknown): boolean {
  return error instanceof EmergentError && error.details?.[detail] !== undefined;
}
