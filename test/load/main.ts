// The load test, as a command: npm run load -- --help
import { interruption } from '../../scripts/children.ts';
import { reasonOf } from '../../src/base/reason.ts';
import { openGrounds } from '../chaos/grounds.ts';
import { UsageError } from '../chaos/options.ts';
import { help, readArguments } from './options.ts';
import type { LoadArguments } from './options.ts';
import { reportText } from './report.ts';
import { runLoad } from './run.ts';

const convergeMs = 60_000;

const note = (line: string): void => {
  process.stderr.write(`${line}\n`);
};

/** The exit code. */
async function load(args: LoadArguments, signal: AbortSignal): Promise<number> {
  const { minutes, clients, pool, seed, killEveryMs, outageMs, database } = args;
  note('Starting a Docker engine of its own; yours is not touched.');
  await using grounds = await openGrounds(database);
  signal.throwIfAborted();
  note(`Seed ${String(seed)}: ${String(clients)} clients, a pool of ${String(pool)}, ${database}.`);
  const what = { clients, pool, seed, killEveryMs, outageMs, convergeMs };
  const report = await runLoad({ ...what, seconds: minutes * 60, progress: note, signal }, grounds);
  const text = args.json ? JSON.stringify(report, undefined, 2) : reportText(report);
  process.stdout.write(`${text}\n`);
  return report.clean && report.missed_goals.length === 0 ? 0 : 1;
}

const interrupted = interruption();
try {
  const args = readArguments(process.argv.slice(2));
  if (args) process.exitCode = await load(args, interrupted);
  else process.stdout.write(`${help}\n`);
} catch (error) {
  if (error instanceof UsageError) {
    note(`load: ${error.message}\n\n${help}`);
    process.exitCode = 2;
  } else {
    const whole = error instanceof Error && !interrupted.aborted ? error.stack : reasonOf(error);
    note(`load: ${whole ?? reasonOf(error)}`);
    process.exitCode = 1;
  }
}
