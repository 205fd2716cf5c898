import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { StringDecoder } from 'node:string_decoder';
import { abortReason, systemClock } from '../base/clock.ts';

export interface RunOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly cwd?: string | undefined;
  readonly input?: string | undefined;
  /** Every line of standard output and standard error, as it comes. */
  readonly onLine?: ((line: string) => void) | undefined;
}

/** A command's failure is a result; `failure` says in one line what went wrong. */
export interface RunResult {
  readonly ok: boolean;
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
  readonly notFound: boolean;
  readonly failure: string | undefined;
}

export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly result: RunResult;

  constructor(result: RunResult) {
    super(result.failure ?? 'the command failed');
    this.result = result;
  }
}

const keptBytes = 256 * 1024;
const killGraceMs = 5_000;

/**
 * Runs a command to its end. It gets its own process group, so that a deadline or an abort ends its children
 * too and a Ctrl-C reaches only us; an abort rejects once the group is gone.
 */
export async function run(argv: readonly string[], options: RunOptions): Promise<RunResult> {
  options.signal?.throwIfAborted();
  const [command = '', ...args] = argv;
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    detached: needsOwnGroup(command),
    stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  const exited = childExit(child);
  const stdout = collect(child.stdout, options.onLine);
  const stderr = collect(child.stderr, options.onLine);
  child.stdin?.on('error', () => undefined).end(options.input);

  const stop = AbortSignal.any([
    AbortSignal.timeout(options.timeoutMs),
    ...(options.signal ? [options.signal] : []),
  ]);
  const exit = await untilExit(child, exited, stop);
  options.signal?.throwIfAborted();

  const base = { exitCode: exit.code, stdout: stdout.text(), stderr: stderr.text() };
  const timedOut = stop.aborted;
  const notFound = exit.error?.code === 'ENOENT';
  const failure = describeFailure(argv, options, { ...exit, timedOut, notFound }, base);
  return { ...base, ok: failure === undefined, timedOut, notFound, failure };
}

/** Like `run`, for commands whose failure ends the work: it throws a CommandError. */
export async function runOk(argv: readonly string[], options: RunOptions): Promise<RunResult> {
  const result = await run(argv, options);
  if (!result.ok) throw new CommandError(result);
  return result;
}

/** Ends a process group: asked first, forced after a grace. */
export async function endGroup(child: ChildProcess, exited: Promise<unknown>): Promise<void> {
  signalGroup(child, 'SIGTERM');
  const grace = new AbortController();
  await Promise.race([exited, systemClock.sleep(killGraceMs, grace.signal).catch(() => undefined)]);
  grace.abort();
  signalGroup(child, 'SIGKILL');
  await exited;
}

export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly error?: NodeJS.ErrnoException;
}

/** Resolves when the process has ended and its output is read, or when it could not be started. */
export function childExit(child: ChildProcess): Promise<ChildExit> {
  const { promise, resolve } = Promise.withResolvers<ChildExit>();
  child.once('error', (error) => {
    resolve({ code: null, signal: null, error });
  });
  child.once('close', (code, signal) => {
    resolve({ code, signal });
  });
  return promise;
}

async function untilExit(
  child: ChildProcess,
  exited: Promise<ChildExit>,
  stop: AbortSignal,
): Promise<ChildExit> {
  const stopped = Promise.withResolvers<undefined>();
  const onStop = (): void => {
    stopped.resolve(undefined);
  };
  stop.addEventListener('abort', onStop, { once: true });
  if (stop.aborted) onStop();
  const exit = await Promise.race([exited, stopped.promise]);
  stop.removeEventListener('abort', onStop);
  if (exit) return exit;
  await endGroup(child, exited);
  return exited;
}

/** sudo asks for a password on the terminal, which a process of another session cannot reach. */
function needsOwnGroup(command: string): boolean {
  return command !== 'sudo';
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  const target = needsOwnGroup(child.spawnfile) ? -child.pid : child.pid;
  try {
    process.kill(target, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function collect(
  stream: NodeJS.ReadableStream | null,
  onLine: ((line: string) => void) | undefined,
): { text(): string } {
  const decoder = new StringDecoder('utf8');
  let text = '';
  let partial = '';
  stream?.on('data', (chunk: Buffer) => {
    const decoded = decoder.write(chunk);
    text = (text + decoded).slice(-keptBytes);
    if (!onLine) return;
    const lines = (partial + decoded).split(/\r?\n|\r/);
    partial = lines.pop() ?? '';
    for (const line of lines) if (line.trim() !== '') onLine(line);
  });
  return { text: () => text };
}

function describeFailure(
  argv: readonly string[],
  options: RunOptions,
  exit: ChildExit & { timedOut: boolean; notFound: boolean },
  output: { stdout: string; stderr: string },
): string | undefined {
  const name = argv.slice(0, 2).join(' ');
  if (exit.notFound) return `${argv[0] ?? ''}: no such program`;
  if (exit.error) return `${name}: ${exit.error.message}`;
  const said = lastLines(output.stderr.trim() === '' ? output.stdout : output.stderr);
  const tail = said === '' ? '' : `: ${said}`;
  if (exit.timedOut)
    return `${name} did not end within ${String(options.timeoutMs / 1000)} s${tail}`;
  if (exit.signal !== null) return `${name} was killed by ${exit.signal}${tail}`;
  if (exit.code !== 0) return `${name} ended with code ${String(exit.code)}${tail}`;
  return undefined;
}

/** The end of a command's output, short enough for a reason. */
export function lastLines(text: string, lines = 3): string {
  const kept = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .slice(-lines)
    .join(' | ');
  return kept.length > 600 ? `…${kept.slice(-600)}` : kept;
}

/** Rejects when the signal aborts; for work that has no abort of its own. */
export function rejectOnAbort(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => undefined);
  const onAbort = (): void => {
    reject(abortReason(signal));
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  return promise;
}
