import { EmergentError } from '../../../domain/errors.ts';
import type { PullLine } from './pull-progress.ts';

/** Far more than the engine ever writes on one. */
const maxLineCharacters = 1 << 20;

/** The engine's report on a pull: JSON objects, one on each line. */
export async function* pullLines(report: AsyncIterable<Uint8Array>): AsyncGenerator<PullLine> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of report) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > maxLineCharacters) {
      throw new EmergentError('provider_failed', 'a line of its report is too long');
    }
    yield* lines.filter(isText).map(parse);
  }
  if (isText(rest)) yield parse(rest);
}

function isText(line: string): boolean {
  return line.trim() !== '';
}

function parse(line: string): PullLine {
  try {
    return JSON.parse(line) as PullLine;
  } catch (error) {
    throw new EmergentError('provider_failed', 'its report is not JSON', { cause: error });
  }
}
