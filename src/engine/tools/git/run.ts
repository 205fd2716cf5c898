import { EmergentError } from '../../../domain/errors.ts';
import { gitLimits } from '../../../domain/git.ts';
import { withoutCredentials } from '../../../domain/repository.ts';
import { runCommand } from '../command.ts';
import type { CommandResult, Sandbox } from '../command.ts';

export interface GitCommand {
  /** The subcommand first; it names the command in messages. */
  readonly args: readonly [string, ...string[]];
  readonly workdir?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  readonly deadlineMs?: number;
  readonly maxStdoutBytes?: number;
  readonly onStderr?: (said: Uint8Array) => void;
}

const defaultStdoutBytes = 64 * 1024;

/** Nobody can answer questions, and what is parsed must not be translated or coloured. */
const environment = {
  GIT_TERMINAL_PROMPT: '0',
  GIT_EDITOR: ':',
  GIT_PAGER: 'cat',
  GIT_LITERAL_PATHSPECS: '1',
  GIT_HTTP_LOW_SPEED_LIMIT: '1',
  GIT_HTTP_LOW_SPEED_TIME: String(gitLimits.stalledSeconds),
  LC_ALL: 'C',
};

const aliveOptions =
  `-o ConnectTimeout=${String(gitLimits.stalledSeconds)} ` +
  `-o ServerAliveInterval=${String(gitLimits.stalledSeconds / 4)} -o ServerAliveCountMax=4`;

const settings = [
  // The files may belong to another user of the image than the one that runs commands.
  'safe.directory=*',
  'core.quotePath=false',
  `core.sshCommand=ssh -o BatchMode=yes -o StrictHostKeyChecking=accept-new ${aliveOptions}`,
  'advice.detachedHead=false',
].flatMap((setting) => ['-c', setting]);

/** Runs git without a shell. A git that fails is `git_failed`, with what it said. */
export async function git(
  sandbox: Sandbox,
  command: GitCommand,
  signal: AbortSignal,
): Promise<CommandResult> {
  const result = await tryGit(sandbox, command, signal);
  if (result.exitCode !== 0) throw failed(command.args[0], result);
  return result;
}

/** The same, where a failure is an answer. */
export async function tryGit(
  sandbox: Sandbox,
  command: GitCommand,
  signal: AbortSignal,
): Promise<CommandResult> {
  const { args, workdir, env, stdin, onStderr } = command;
  try {
    return await runCommand(
      sandbox,
      {
        what: `git ${args[0]}`,
        argv: ['git', ...settings, ...args],
        env: { ...environment, ...env },
        deadlineMs: command.deadlineMs ?? gitLimits.localDeadlineMs,
        maxStdoutBytes: command.maxStdoutBytes ?? defaultStdoutBytes,
        maxStderrBytes: gitLimits.messageBytes,
        ...(workdir !== undefined && { workdir }),
        ...(stdin !== undefined && { stdin }),
        ...(onStderr && { onStderr }),
      },
      signal,
    );
  } catch (error) {
    throw await explained(sandbox, error, signal);
  }
}

/** A program that cannot be started, and a directory that is not there, are refused alike: asking again tells. */
async function explained(sandbox: Sandbox, error: unknown, signal: AbortSignal): Promise<unknown> {
  if (!(error instanceof EmergentError) || error.code !== 'invalid_value') return error;
  const version = {
    what: 'git version',
    argv: ['git', 'version'],
    deadlineMs: gitLimits.localDeadlineMs,
    maxStdoutBytes: 1024,
    maxStderrBytes: 1024,
  } as const;
  try {
    await runCommand(sandbox, version, signal);
    return error;
  } catch (missing) {
    return new EmergentError('git_failed', 'there is no git in the image of this workspace', {
      hint: 'Use an image that has git; the default one does.',
      cause: missing,
    });
  }
}

function failed(subcommand: string, { exitCode, stdout, stderr }: CommandResult): EmergentError {
  // As a terminal shows it: progress is written over, each time from the beginning of the line.
  const said = withoutCredentials(stderr.replaceAll(/[^\n]*\r(?!\n)/g, '').trim());
  // Some refusals, such as "nothing to commit", are said on standard output.
  const answered = withoutCredentials(
    stdout.subarray(0, gitLimits.messageBytes).toString('utf8').trim(),
  );
  const message = `git ${subcommand}: ${decisiveLine(said === '' ? answered : said)}`;
  return new EmergentError('git_failed', message, {
    details: { exit_code: exitCode, stderr: said, stdout: answered },
  });
}

/** The line that says what is wrong, among progress and advice. */
function decisiveLine(text: string): string {
  const lines = text.split(/[\r\n]+/).filter((line) => line.trim() !== '');
  const decisive = lines.find((line) => /^(fatal|error|remote: error): /.test(line));
  return (decisive ?? lines.at(-1) ?? 'failed without a word').slice(0, 500);
}
