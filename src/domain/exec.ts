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

/** One command inside a sandbox: an argument vector, never a shell string. */
export interface ExecRequest {
  readonly argv: readonly [string, ...string[]];
  readonly workdir?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Without it the command reads end-of-file at once. */
  readonly stdin?: boolean;
}

export type ExecEvent =
  | { readonly type: 'stdout' | 'stderr'; readonly data: Uint8Array }
  | ({ readonly type: 'exit' } & ExecExit);

/** A command's failure is a result. `exitCode` follows the shell: 128 + signal number when killed. */
export interface ExecExit {
  readonly exitCode: number;
  /** The signal that ended it, such as "SIGKILL"; null when it exited by itself. */
  readonly signal: string | null;
}

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
}
