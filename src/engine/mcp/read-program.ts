import { EmergentError } from '../../domain/errors.ts';
import type { McpExit } from '../../domain/mcp.ts';
import type { SandboxRef } from '../../domain/provider.ts';
import type { SandboxProcesses } from '../../domain/sandbox-processes.ts';
import type { Clock } from '../../base/clock.ts';
import type { LogRing } from './log-ring.ts';
import { OutputLines } from './output-lines.ts';

/** A program that runs, and where it does. */
export interface RunningProgram {
  readonly processes: SandboxProcesses;
  readonly ref: SandboxRef;
  readonly processId: string;
  /** How much of its output lies behind us. */
  readonly offset: number;
}

/** What its standard output is given to; without one it is logged. */
export interface OutputReader {
  feed(data: Uint8Array): void;
  skipped(bytes: number): void;
}

/** How the reading of a program's output ended. `lost`: the sandbox cannot be reached, or has forgotten it. */
export type ProgramEnd =
  | { readonly kind: 'exited'; readonly exit: McpExit }
  | { readonly kind: 'lost'; readonly why: unknown };

/** Reads what a program writes until it ends; `signal` ends the reading, and nothing else. */
export async function readProgram(
  { processes, ref, processId, offset }: RunningProgram,
  { logs, stdout, clock }: { logs: LogRing; stdout: OutputReader | undefined; clock: Clock },
  signal: AbortSignal,
): Promise<ProgramEnd> {
  const lines = {
    stdout: new OutputLines((line) => {
      logs.add('stdout', line);
    }),
    stderr: new OutputLines((line) => {
      logs.add('stderr', line);
    }),
  };
  const reader: OutputReader = stdout ?? {
    ...{
      feed: (data) => {
        lines.stdout.feed(data);
      },
    },
    skipped: () => undefined,
  };
  try {
    const events = await processes.attach(ref, processId, { offset, follow: true }, signal);
    for await (const event of events) {
      switch (event.type) {
        case 'stdout':
          reader.feed(event.data);
          break;
        case 'stderr':
          lines.stderr.feed(event.data);
          break;
        case 'skipped':
          logs.add('host', `${String(event.bytes)} bytes of its output came too fast and are lost`);
          reader.skipped(event.bytes);
          break;
        case 'exit': {
          const { exitCode, signal: by } = event;
          return { kind: 'exited', exit: { exitCode, signal: by, at: clock.now() } };
        }
      }
    }
    const why = new EmergentError('sandbox_unreachable', 'its output ended without an end of it');
    return { kind: 'lost', why };
  } catch (error) {
    signal.throwIfAborted();
    return { kind: 'lost', why: error };
  } finally {
    lines.stdout.flush();
    lines.stderr.flush();
  }
}

/** What is left of earlier output for the log: the end of it, without what is said on the standard output. */
export async function readPastLog(
  { processes, ref, processId, offset }: RunningProgram,
  logs: LogRing,
  signal: AbortSignal,
): Promise<void> {
  const from = Math.max(0, offset - pastBytes);
  const lines = new OutputLines((line) => {
    logs.add('stderr', line);
  });
  const events = await processes.attach(ref, processId, { offset: from, follow: false }, signal);
  for await (const event of events) {
    if (event.type === 'stderr' && event.offset <= offset) lines.feed(event.data);
  }
  lines.flush();
}

const pastBytes = 64 * 1024;
