import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { systemCode } from '../../base/system-code.ts';
import type { Clock } from '../../base/clock.ts';
import { reasonOf } from '../../base/reason.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { ExecEvent, ExecExit, ExecProcess, ProcessSignal } from '../../domain/exec.ts';
import type { OutputLog } from './output-log.ts';
import { OutputQueue } from './output-queue.ts';
import { groupRuns, signalGroup } from './process-group.ts';

/** How often a group without a leader is looked at: the system tells only a parent of an end. */
const pollMs = 20;
/** What was killed is gone by then. */
const killMs = 2_000;
/** More than the kernel keeps in one pipe. */
const pipeBytes = 2 ** 20;

export interface HostCommand {
  readonly argv: readonly [string, ...string[]];
  /** An existing directory of the host. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: boolean;
  /** Whether somebody will read `events`; otherwise nothing holds the command back. */
  readonly attached: boolean;
  /** Also gets all output, and how it ended. */
  readonly log: OutputLog;
  readonly clock: Clock;
}

/** Starts a child process of the host in its own process group. */
export async function startHostProcess(command: HostCommand): Promise<HostProcess> {
  const [program, ...args] = command.argv;
  try {
    const child = spawn(program, args, {
      cwd: command.cwd,
      env: { ...command.env },
      detached: true,
      stdio: [command.stdin ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    });
    if (child.pid !== undefined) return new HostProcess(child, child.pid, command);
    const [failure] = (await once(child, 'error')) as [Error];
    throw failure;
  } catch (error) {
    throw toStartError(error, program);
  }
}

function toStartError(error: unknown, program: string): EmergentError {
  switch (systemCode(error)) {
    case 'ENOENT':
    case 'ENOTDIR':
      return new EmergentError('invalid_value', `${program}: not found`, { cause: error });
    case 'EACCES':
      return new EmergentError('invalid_value', `${program}: not executable`, { cause: error });
    case 'E2BIG':
    case 'ERR_INVALID_ARG_VALUE':
      return new EmergentError('invalid_value', `${program}: ${reasonOf(error)}`, { cause: error });
    default:
      return new EmergentError('provider_failed', `starting ${program}: ${reasonOf(error)}`, {
        cause: error,
      });
  }
}

/**
 * A running command. It ends when its leader ends: output that the leader left in the pipes is still
 * delivered, what background children write later is not. Those stay in the group until it is killed.
 */
export class HostProcess implements ExecProcess {
  readonly pid: number;
  readonly events: AsyncIterable<ExecEvent>;
  /** Resolves when the leader has ended. */
  readonly ended: Promise<void>;
  /** Resolves when its readers can know it too: of one that is attached, not before its output is read. */
  readonly told: Promise<void>;
  readonly #child: ChildProcess;
  readonly #outputs: readonly Readable[];
  readonly #queue: OutputQueue;
  readonly #log: OutputLog;
  readonly #clock: Clock;
  #received = 0;
  #closed = false;
  #hasGroup = true;

  constructor(
    child: ChildProcess,
    pid: number,
    { attached, log, clock }: Pick<HostCommand, 'attached' | 'log' | 'clock'>,
  ) {
    this.#child = child;
    this.pid = pid;
    this.#log = log;
    this.#clock = clock;
    this.#queue = new OutputQueue(() => {
      for (const output of this.#outputs) output.resume();
    });
    this.events = { [Symbol.asyncIterator]: () => this.#queue.read() };
    this.#outputs = [this.#collect('stdout', child.stdout), this.#collect('stderr', child.stderr)];
    if (!attached) this.#queue.abandon();
    // A write that fails is reported by its own callback.
    child.stdin?.on('error', () => undefined);
    child.once('close', () => {
      this.#closed = true;
      this.#checkGroup();
    });
    const [ended, told] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    [this.ended, this.told] = [ended.promise, told.promise];
    child.once('exit', (code, signal) => {
      this.#checkGroup();
      ended.resolve();
      void this.#finish(toExit(code, signal)).then(told.resolve);
    });
  }

  /** Whether the leader or a child that it left behind still runs. */
  get hasGroup(): boolean {
    this.#checkGroup();
    return this.#hasGroup;
  }

  async writeStdin(data: Uint8Array): Promise<void> {
    const stdin = this.#stdin();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    stdin.write(data, (error) => {
      if (error) reject(notReading(error));
      else resolve();
    });
    await promise;
  }

  async closeStdin(): Promise<void> {
    this.#stdin().end();
  }

  /** The same, where there is one. */
  closeInput(): void {
    this.#child.stdin?.end();
  }

  async kill(signal: ProcessSignal): Promise<void> {
    if (this.hasGroup) signalGroup(this.pid, signal);
  }

  async end(graceMs: number): Promise<void> {
    await this.kill('SIGTERM');
    // One that is stopped would not hear.
    if (this.hasGroup) signalGroup(this.pid, 'SIGCONT');
    if (await this.#goneWithin(graceMs)) return;
    await this.kill('SIGKILL');
    if (await this.#goneWithin(killMs)) return;
    throw new EmergentError('provider_failed', `process group ${String(this.pid)} does not end`);
  }

  async #goneWithin(limitMs: number): Promise<boolean> {
    const until = this.#clock.monotonic() + limitMs;
    while (this.hasGroup) {
      const left = until - this.#clock.monotonic();
      if (left <= 0) return false;
      await this.#clock.sleep(Math.min(pollMs, left));
    }
    return true;
  }

  /** An empty group is never signalled again: the system may give its number to somebody else. */
  #checkGroup(): void {
    this.#hasGroup &&= !this.#leaderEnded || groupRuns(this.pid);
  }

  get #leaderEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  #stdin(): Writable {
    if (this.#child.stdin) return this.#child.stdin;
    throw new EmergentError('wrong_state', 'the command was started without standard input');
  }

  #collect(type: 'stdout' | 'stderr', output: Readable | null): Readable {
    if (!output) throw new EmergentError('internal', `the child process has no ${type}`);
    output.on('data', (data: Buffer) => {
      this.#received += data.length;
      this.#queue.push({ type, data });
      this.#log.push(type, data);
      if (this.#queue.full) for (const each of this.#outputs) each.pause();
    });
    output.on('error', () => undefined);
    return output;
  }

  async #finish(exit: ExecExit): Promise<void> {
    await this.#drain();
    this.#queue.push({ type: 'exit', ...exit, background: this.hasGroup });
    this.#log.end(exit);
    for (const output of this.#outputs) output.removeAllListeners('data').resume();
  }

  /**
   * Reads what the leader wrote before it ended. A background child may hold the pipes open for ever, and may
   * go on writing, so the end is a whole turn of the event loop in which both pipes were polled and neither
   * had anything, or more bytes than the pipes could have held when the leader ended.
   */
  async #drain(): Promise<void> {
    const enough = this.#received + 2 * pipeBytes;
    for (;;) {
      await this.#queue.space();
      const before = this.#received;
      await nextTurn();
      await nextTurn();
      const quiet = this.#received === before && !this.#queue.full;
      if (this.#closed || quiet || this.#received > enough) return;
    }
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function toExit(code: number | null, signal: NodeJS.Signals | null): ExecExit {
  if (signal === null) return { exitCode: code ?? 0, signal: null };
  return { exitCode: 128 + constants.signals[signal], signal };
}

function notReading(cause: Error): EmergentError {
  return new EmergentError('wrong_state', 'the command no longer reads its standard input', {
    cause,
  });
}
