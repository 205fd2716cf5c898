import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import type { DatabaseKind } from '../chaos/grounds.ts';
import { oneOf, positive, UsageError } from '../chaos/options.ts';

export interface LoadArguments {
  readonly minutes: number;
  readonly clients: number;
  readonly pool: number;
  /** Undefined: nothing is killed. */
  readonly killEveryMs: number | undefined;
  /** Undefined: the engine stays. */
  readonly outageMs: number | undefined;
  readonly seed: number;
  readonly database: DatabaseKind;
  readonly json: boolean;
}

export const help = `npm run load -- --minutes N [options]

Clients create workspaces, use and destroy them over HTTP while sandboxes that wait in the warm pool are killed at
random; or, with --engine-outage, while the Docker engine is stopped for some time. No workspace may be handed out
twice or dead; afterwards the pool must be back at its size, and nothing may be left over. It runs a server, an engine
and a database of its own, and never touches yours. Needs root, as the tests do.

  --minutes N            how long the clients work (1); with --engine-outage, before and after it together
  --clients N            clients at the same time (20)
  --pool N               size of the warm pool (5)
  --kill-every TIME      a waiting sandbox is killed about this often (3s)
  --engine-outage TIME   stops the engine for so long instead of killing sandboxes
  --seed N               repeats the choices of an earlier run (random)
  --database KIND        pglite or postgres (pglite)
  --json                 the report as JSON
  --help

TIME is a number with ms, s or m. Progress goes to standard error, the report to standard output. Exit code 0: nothing
was found and every goal met; 1: something was, and the server's log and data are kept; 2: wrong usage.`;

/** Undefined: help was asked for. */
export function readArguments(argv: readonly string[]): LoadArguments | undefined {
  const { values } = parse(argv);
  if (values.help) return undefined;
  const outage = values['engine-outage'];
  const kills = values['kill-every'];
  if (outage !== undefined && kills !== undefined) {
    throw new UsageError(
      '--kill-every: nothing can be killed while --engine-outage stops the engine',
    );
  }
  return {
    minutes: positive('--minutes', values.minutes),
    clients: Math.ceil(positive('--clients', values.clients)),
    pool: Math.ceil(positive('--pool', values.pool)),
    killEveryMs: outage === undefined ? duration('--kill-every', kills ?? '3s') : undefined,
    outageMs: outage === undefined ? undefined : duration('--engine-outage', outage),
    seed: values.seed === undefined ? randomInt(2 ** 31) : positive('--seed', values.seed),
    database: oneOf('--database', values.database, ['pglite', 'postgres']),
    json: values.json,
  };
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      options: {
        minutes: { type: 'string', default: '1' },
        clients: { type: 'string', default: '20' },
        pool: { type: 'string', default: '5' },
        'kill-every': { type: 'string' },
        'engine-outage': { type: 'string' },
        seed: { type: 'string' },
        database: { type: 'string', default: 'pglite' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000 };

/** In milliseconds. */
function duration(option: string, text: string): number {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m)$/.exec(text) ?? [];
  const ms = Number(number) * (units[unit] ?? Number.NaN);
  if (!(ms > 0)) throw new UsageError(`${option}: "${text}" is not a time such as 3s`);
  return ms;
}
