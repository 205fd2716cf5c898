/** The signals a caller may send. */
export const processSignals = [
  'SIGINT',
  'SIGTERM',
  'SIGKILL',
  'SIGHUP',
  'SIGQUIT',
  'SIGUSR1',
  'SIGUSR2',
] as const;
export type ProcessSignal = (typeof processSignals)[number];

/** In characters. */
export interface TerminalSize {
  readonly cols: number;
  readonly rows: number;
}

/** One command inside a sandbox: an argument vector, never a shell string. */
export interface ExecRequest {
  readonly argv: readonly [string, ...string[]];
  readonly workdir?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Without it the command reads end-of-file at once. */
  readonly stdin?: boolean;
  /** Gives it a terminal of this size; what it writes there comes as `stdout`. */
  readonly pty?: TerminalSize;
  /** Names the process in the sandbox, for `processes`; unique among its processes. */
  readonly id?: string;
}

export type ExecEvent = { readonly type: 'stdout' | 'stderr'; readonly data: Uint8Array } | ExecEnd;

/** A command's failure is a result. `exitCode` follows the shell: 128 + signal number when killed. */
export interface ExecExit {
  readonly exitCode: number;
  /** The signal that ended it, such as "SIGKILL"; null when it exited by itself. */
  readonly signal: string | null;
}

/** `background`: others of its process group still ran when its end was told. */
export type ExecEnd = { readonly type: 'exit'; readonly background?: boolean } & ExecExit;

/**
 * A running command. `events` yields its output as it comes and ends with exactly one `exit`; it can be read
 * once, and slow reading holds the command back only when the agent's buffer is full. If the link to the
 * sandbox is lost for good, reading throws.
 */
export interface ExecProcess {
  readonly pid: number;
  readonly events: AsyncIterable<ExecEvent>;
  writeStdin(data: Uint8Array): Promise<void>;
  closeStdin(): Promise<void>;
  /** To the whole process group. A process that has ended is not an error. */
  kill(signal: ProcessSignal): Promise<void>;
  /**
   * SIGTERM to the whole process group, SIGKILL to what is left of it after `graceMs`. Resolves when nobody is left,
   * which may be after the `exit`: children can outlive the command that started them.
   */
  end(graceMs: number): Promise<void>;
}

/** A process that was started in a sandbox with an id: one that runs, or one that ended and is remembered. */
export interface ProcessInfo {
  readonly id: string;
  readonly pid: number;
  readonly argv: readonly string[];
  /** Started to outlive whoever started it. */
  readonly detached: boolean;
  readonly startedAt: Date;
  /** Null while it runs. */
  readonly endedAt: Date | null;
  readonly exit: ExecExit | null;
  /** What it has written so far, stdout and stderr together. */
  readonly outputBytes: number;
  /** How many bytes from the beginning of that are no longer kept. */
  readonly droppedBytes: number;
}

/** `offset`: how many bytes of output (stdout and stderr together) lie before the end of this event. */
export type OutputEvent =
  | { readonly type: 'stdout' | 'stderr'; readonly data: Uint8Array; readonly offset: number }
  /** Output that is no longer kept. */
  | { readonly type: 'skipped'; readonly bytes: number; readonly offset: number }
  | ({ readonly type: 'exit' } & ExecExit);

export interface AttachOptions {
  /** How many bytes of output the caller has already. */
  readonly offset: number;
  /** False: end with what is there now, with an `exit` only if it has ended. True: go on until it ends. */
  readonly follow: boolean;
}
