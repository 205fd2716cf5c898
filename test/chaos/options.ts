import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { faultKinds } from './faults.ts';
import type { FaultKind } from './faults.ts';
import type { DatabaseKind } from './grounds.ts';

export interface ChaosArguments {
  readonly minutes: number;
  readonly clients: number;
  readonly seed: number;
  readonly faults: readonly FaultKind[];
  readonly database: DatabaseKind;
  readonly json: boolean;
}

export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export const help = `npm run chaos -- --minutes N [options]

Clients create, use, stop, resume and destroy workspaces over HTTP while the server is killed (SIGKILL) again and
again, and on request its Docker engine and its database with it. At the end everything that was acknowledged
must be there or gone, and nothing may be left over. It runs a server, an engine and a database of its own, and
never touches yours. Needs root, as the tests do.

  --minutes N        how long the faults go on (1); the closing check comes after it
  --clients N        clients at the same time (8)
  --seed N           repeats the choices of an earlier run (random)
  --faults LIST      of ${faultKinds.join(',')} (all that the database allows)
  --database KIND    pglite or postgres (pglite)
  --json             the report as JSON
  --help

Progress goes to standard error, the report to standard output. Exit code 0: nothing was lost, leaked or stuck;
1: something was, and the server's log and data are kept; 2: wrong usage.`;

/** Undefined: help was asked for. */
export function readArguments(argv: readonly string[]): ChaosArguments | undefined {
  const { values } = parse(argv);
  if (values.help) return undefined;
  const database = oneOf('--database', values.database, ['pglite', 'postgres']);
  const possible = faultKinds.filter((kind) => kind !== 'database' || database === 'postgres');
  const faults = values.faults?.split(',').map((name) => oneOf('--faults', name, faultKinds));
  if (faults?.includes('database') && database === 'pglite') {
    throw new UsageError(
      'PGlite lives inside the server: --faults database needs --database postgres',
    );
  }
  return {
    minutes: positive('--minutes', values.minutes),
    clients: Math.ceil(positive('--clients', values.clients)),
    seed: values.seed === undefined ? randomInt(2 ** 31) : positive('--seed', values.seed),
    faults: faults ?? possible,
    database,
    json: values.json,
  };
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      options: {
        minutes: { type: 'string', default: '1' },
        clients: { type: 'string', default: '8' },
        seed: { type: 'string' },
        faults: { type: 'string' },
        database: { type: 'string', default: 'pglite' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

export function oneOf<const T extends string>(
  option: string,
  text: string,
  allowed: readonly T[],
): T {
  const found = allowed.find((item) => item === text);
  if (found === undefined) {
    throw new UsageError(`${option}: "${text}" is not one of ${allowed.join(', ')}`);
  }
  return found;
}

export function positive(option: string, text: string): number {
  const number = Number(text);
  if (!(number > 0 && Number.isFinite(number))) {
    throw new UsageError(`${option}: "${text}" is not a number above 0`);
  }
  return number;
}
