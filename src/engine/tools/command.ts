import { withDeadline } from '../../base/deadline.ts';
import { bashDefaults } from '../../domain/bash.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { ExecExit, ExecProcess } from '../../domain/exec.ts';
import type { Target } from '../operation.ts';
import { OutputWindow } from './output-window.ts';

/** Where a program runs. */
export type Sandbox = Pick<Target, 'provider' | 'ref'>;

/** A program that a tool runs for its answer, as opposed to a command of the user's. */
export interface ToolCommand {
  /** For messages: "git status". */
  readonly what: string;
  readonly argv: readonly [string, ...string[]];
  readonly workdir?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  readonly deadlineMs: number;
  /** Kept from the beginning; the rest is read and dropped. */
  readonly maxStdoutBytes: number;
  /** Kept from the beginning and the end. */
  readonly maxStderrBytes: number;
  /** Hears it as it comes. */
  readonly onStderr?: (said: Uint8Array) => void;
}

export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: Buffer;
  /** There was more. */
  readonly stdoutCut: boolean;
  readonly stderr: string;
}

/** Runs a program to its end. When it takes too long, or `signal` aborts, it is ended as bash ends commands. */
export async function runCommand(
  { provider, ref }: Sandbox,
  command: ToolCommand,
  signal: AbortSignal,
): Promise<CommandResult> {
  const { argv, workdir, env, stdin } = command;
  const process = await provider.exec(
    ref,
    {
      argv,
      ...(workdir !== undefined && { workdir }),
      ...(env && { env }),
      ...(stdin !== undefined && { stdin: true }),
    },
    signal,
  );
  const ended = collect(process, command);
  // Whoever waits sees how it ended; after the deadline nobody may be waiting any more.
  ended.catch(() => undefined);
  if (stdin !== undefined) void feed(process, stdin);
  try {
    return await withDeadline(command.what, command.deadlineMs, () => ended, signal);
  } catch (error) {
    // With time to clean up: git leaves locks behind when it is killed. A sandbox that is gone needs no killing.
    await process.end(bashDefaults.killGraceMs).catch(() => undefined);
    throw error;
  }
}

/** A program that ends before it has read everything says why by how it ends. */
async function feed(process: ExecProcess, text: string): Promise<void> {
  try {
    await process.writeStdin(Buffer.from(text));
    await process.closeStdin();
  } catch {
    await process.closeStdin().catch(() => undefined);
  }
}

async function collect(process: ExecProcess, command: ToolCommand): Promise<CommandResult> {
  const kept: Uint8Array[] = [];
  const stderr = new OutputWindow(command.maxStderrBytes);
  let room = command.maxStdoutBytes;
  let stdoutCut = false;
  let exit: ExecExit | undefined;
  for await (const event of process.events) {
    if (event.type === 'exit') exit = event;
    else if (event.type === 'stderr') {
      stderr.push(event.data);
      command.onStderr?.(event.data);
    } else {
      stdoutCut ||= event.data.length > room;
      const piece = event.data.subarray(0, room);
      room -= piece.length;
      if (piece.length > 0) kept.push(piece);
    }
  }
  if (!exit)
    throw new EmergentError('sandbox_unreachable', `${command.what} ended without a result`);
  return {
    exitCode: exit.exitCode,
    stdout: Buffer.concat(kept),
    stdoutCut,
    stderr: stderr.text(),
  };
}
