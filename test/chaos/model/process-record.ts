/** Counts the lives of a sandbox: processes end with each. */
export type Life = number;

/** What reading a process's output from its beginning answered. */
export interface SeenOutput {
  readonly output: string;
  /** Null while it runs. */
  readonly exitCode: number | null;
}

/** A detached process whose start was acknowledged: what it writes and how it ends is known beforehand. */
export interface ProcessRecord {
  readonly id: string;
  readonly output: string;
  readonly exitCode: number;
  /** The life of the sandbox it was started in; it ends with that. */
  readonly life: Life;
}

/** Output grows from its beginning, is whole at the end, and the exit code is the command's own. */
export function observeProcess(process: ProcessRecord, seen: SeenOutput): string | undefined {
  const { output, exitCode } = seen;
  if (!process.output.startsWith(output)) {
    return `output of ${String(output.length)} characters that the command never wrote: ${excerpt(output)}`;
  }
  if (exitCode === null) return undefined;
  if (exitCode !== process.exitCode) {
    return `exit code ${String(exitCode)} where the command ends with ${String(process.exitCode)}`;
  }
  if (output.length === process.output.length) return undefined;
  return `ended with ${String(output.length)} of ${String(process.output.length)} characters of output`;
}

function excerpt(output: string): string {
  return JSON.stringify(output.length <= 80 ? output : `…${output.slice(-80)}`);
}
