import type { Failure } from '../failure.ts';
import { oneLine } from './output.ts';
import { styled } from './style.ts';

/** One line on standard error: what went wrong, and what to do; as JSON in the shape of the API's errors. */
export function reportFailure(failure: Failure, json: boolean): void {
  if (json) {
    process.stderr.write(`${JSON.stringify(failure)}\n`);
    return;
  }
  const message = oneLine(failure.message).replace(/\.$/, '');
  const text = failure.hint === undefined ? message : `${message}. ${oneLine(failure.hint)}`;
  process.stderr.write(`${styled('red', 'emergent:', process.stderr)} ${text}\n`);
}
