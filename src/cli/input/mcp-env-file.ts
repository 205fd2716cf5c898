import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { Failure, systemCode } from '../failure.ts';
import type { Pairs } from './pairs.ts';

/** The variables of a file with a `NAME=value` in each line; quotes and comments are understood. */
export function readEnvFile(path: string): Pairs {
  try {
    return parseEnv(readFileSync(path, 'utf8')) as Pairs;
  } catch (error) {
    throw new Failure(
      'env_file_unreadable',
      `the file ${path} cannot be read (${systemCode(error) ?? 'error'})`,
      { hint: 'It holds one NAME=value in each line.', cause: error },
    );
  }
}
