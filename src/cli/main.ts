import { CommanderError } from 'commander';
import { exitCodeOfSignal, exitCodes } from './exit-codes.ts';
import { reasonOf } from '../base/reason.ts';
import { BrokenPipe, Failure, UsageFailure } from './failure.ts';
import { createProgram } from './program.ts';
import { reportFailure } from './terminal/report.ts';
import { version } from './version.ts';

const args = withHelpCommand(process.argv.slice(2));
const json = wantsJson(args);
const program = createProgram(version());

// Each write reports its own error; without a listener the stream would raise it once more, as uncaught.
process.stdout.on('error', () => undefined);
process.stderr.on('error', () => undefined);
process.on('uncaughtException', (error) => {
  reportFailure(unexpected(error), json);
  process.exit(program.failureCode());
});

try {
  await program.command.parseAsync(args, { from: 'user' });
} catch (error) {
  process.exitCode = report(error);
}

function report(error: unknown): number {
  if (error instanceof BrokenPipe) return exitCodeOfSignal('SIGPIPE');
  if (error instanceof CommanderError) return reportUsage(error);
  const failure = error instanceof Failure ? error : unexpected(error);
  reportFailure(failure, json);
  return failure.exitCode ?? program.failureCode();
}

/** Help and version end as errors too, with the exit code 0 and nothing left to say. */
function reportUsage(error: CommanderError): number {
  if (error.exitCode === 0) return exitCodes.ok;
  if (error.code !== 'commander.help') {
    const message = error.message.replace(/^error: /, '').replace(/\s+/g, ' ');
    reportFailure(new UsageFailure(message, program.usageHint()), json);
  }
  return exitCodes.usage;
}

function unexpected(error: unknown): Failure {
  const trace = error instanceof Error ? (error.stack ?? error.message) : String(error);
  if (process.env['EMERGENT_DEBUG']) process.stderr.write(`${trace}\n`);
  return new Failure('internal', `unexpected error: ${reasonOf(error)}`, {
    hint: 'Set EMERGENT_DEBUG=1 to see where it comes from.',
    cause: error,
  });
}

/** `emergent help exec` is `emergent exec --help`. */
function withHelpCommand(given: readonly string[]): string[] {
  return given[0] === 'help' ? [...given.slice(1), '--help'] : [...given];
}

/** Known before the command line is understood, so that a mistake in it can be reported as asked. */
function wantsJson(given: readonly string[]): boolean {
  const end = given.indexOf('--');
  return (end < 0 ? given : given.slice(0, end)).includes('--json');
}
