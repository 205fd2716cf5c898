/** The bash tool: one shell command in a workspace. The same on every provider. */
export interface BashRequest {
  readonly command: string;
  readonly workdir?: string;
  readonly timeoutMs: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** A command's failure is a result: a non-zero exit, a kill and a timeout all end up here. */
export interface BashResult {
  /** Decoded as UTF-8; the middle is cut out, and the cut marked, beyond the kept size. */
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
  readonly signal: string | null;
  readonly timedOut: boolean;
  /** The workspace was stopped or destroyed while the command ran, and that ended it. */
  readonly interrupted: boolean;
  /** Processes that the command has started still run. */
  readonly background: boolean;
  readonly truncated: boolean;
  /** What the command really wrote. */
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
  readonly durationMs: number;
}

export type BashEvent =
  | { readonly type: 'start'; readonly pid: number; readonly processId: string }
  | { readonly type: 'stdout' | 'stderr'; readonly data: Uint8Array }
  | { readonly type: 'result'; readonly result: BashResult };

export const bashDefaults = {
  timeoutMs: 120_000,
  maxTimeoutMs: 24 * 60 * 60 * 1000,
  /** After SIGTERM, before SIGKILL. */
  killGraceMs: 5_000,
  /** Kept of each stream: half from the head, half from the tail. */
  keptBytes: 50 * 1024,
} as const;
