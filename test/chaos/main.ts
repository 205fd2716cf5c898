// The kill test, as a command: npm run chaos -- --help
import { interruption } from '../../scripts/children.ts';
import { reasonOf } from '../../src/base/reason.ts';
import { openGrounds } from './grounds.ts';
import { help, readArguments, UsageError } from './options.ts';
import type { ChaosArguments } from './options.ts';
import { reportText } from './report.ts';
import { runChaos } from './run.ts';

const note = (line: string): void => {
  process.stderr.write(`${line}\n`);
};

/** The exit code. */
async function chaos(args: ChaosArguments, signal: AbortSignal): Promise<number> {
  note('Starting a Docker engine of its own; yours is not touched.');
  await using grounds = await openGrounds(args.database);
  signal.throwIfAborted();
  const faults = args.faults.join(', ');
  note(
    `Seed ${String(args.seed)}: ${String(args.clients)} clients, ${args.database}, faults: ${faults}.`,
  );
  const { minutes, clients, seed } = args;
  const report = await runChaos(
    { seconds: minutes * 60, clients, seed, faults: args.faults, progress: note, signal },
    grounds,
  );
  const text = args.json ? JSON.stringify(report, undefined, 2) : reportText(report);
  process.stdout.write(`${text}\n`);
  return report.clean ? 0 : 1;
}

const interrupted = interruption();
try {
  const args = readArguments(process.argv.slice(2));
  if (args) process.exitCode = await chaos(args, interrupted);
  else process.stdout.write(`${help}\n`);
} catch (error) {
  if (error instanceof UsageError) {
    note(`chaos: ${error.message}\n\n${help}`);
    process.exitCode = 2;
  } else {
    const whole = error instanceof Error && !interrupted.aborted ? error.stack : reasonOf(error);
    note(`chaos: ${whole ?? reasonOf(error)}`);
    process.exitCode = 1;
  }
}
