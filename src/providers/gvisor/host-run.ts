/** How one command on the host ended; `failure` says in one line what went wrong. */
export interface CommandResult {
  readonly ok: boolean;
  readonly stdout: string;
  /** There is no such program. */
  readonly notFound: boolean;
  readonly failure: string | undefined;
}

export interface CommandOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
}

/** Runs a command on this host to its end, within the time given. A failing command is a result. */
export type HostRun = (argv: readonly string[], options: CommandOptions) => Promise<CommandResult>;
