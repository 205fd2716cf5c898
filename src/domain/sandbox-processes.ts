import type {
  AttachOptions,
  ExecRequest,
  OutputEvent,
  ProcessInfo,
  ProcessSignal,
  TerminalSize,
} from './exec.ts';

/** Names a sandbox that a row knows of; it may no longer exist. */
export interface SandboxRef {
  readonly workspaceId: string;
  readonly sandboxName: string;
}

/** Long-running processes of one sandbox. An unknown id is `process_not_found`. */
export interface SandboxProcesses {
  /** Starts a command that nobody waits for: it ends by itself, by a signal or with the sandbox. */
  start(
    ref: SandboxRef,
    request: ExecRequest & { readonly id: string },
    signal: AbortSignal,
  ): Promise<ProcessInfo>;
  /** Those with an id, oldest first: all that run, and those that ended as long as they are remembered. */
  list(ref: SandboxRef, signal: AbortSignal): Promise<readonly ProcessInfo[]>;
  /**
   * The output from a place on, as often as one likes. Reading slowly never holds the process back: what falls
   * out of the kept output is `skipped`. A broken link is mended unseen; `signal` ends the reading.
   */
  attach(
    ref: SandboxRef,
    id: string,
    options: AttachOptions,
    signal: AbortSignal,
  ): Promise<AsyncIterable<OutputEvent>>;
  /** To its whole process group. One that has ended with all its children is `process_not_found`. */
  signal(ref: SandboxRef, id: string, name: ProcessSignal, signal: AbortSignal): Promise<void>;
  /** To its terminal, or to its standard input where it was started with one. */
  input(ref: SandboxRef, id: string, data: Uint8Array, signal: AbortSignal): Promise<void>;
  /** It reads end-of-file from now on. Of one that has ended, or has none to close: nothing. */
  closeInput(ref: SandboxRef, id: string, signal: AbortSignal): Promise<void>;
  /**
   * Ends everything in the sandbox, whoever started it: SIGTERM, up to `graceMs` for all to end, then SIGKILL. The
   * sandbox goes on and takes new commands afterwards.
   */
  endAll(ref: SandboxRef, graceMs: number, signal: AbortSignal): Promise<void>;
  /** Of one that has a terminal; otherwise `wrong_state`. */
  resize(ref: SandboxRef, id: string, size: TerminalSize, signal: AbortSignal): Promise<void>;
}
