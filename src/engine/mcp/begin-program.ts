import { randomUUID } from 'node:crypto';
import { EmergentError } from '../../domain/errors.ts';
import type { ProcessInfo } from '../../domain/exec.ts';
import type { McpExit, McpIntroduction, McpRun } from '../../domain/mcp.ts';
import { mcpConfigOf } from '../../domain/mcp.ts';
import { isMissingProgram } from '../../domain/missing-program.ts';
import type { SandboxRef } from '../../domain/provider.ts';
import type { SandboxProcesses } from '../../domain/sandbox-processes.ts';
import type { Workspace } from '../../domain/workspace.ts';
import type { McpContext } from './context.ts';
import { programOf } from './program.ts';
import type { RunningProgram } from './read-program.ts';

/** Where a server's program is started and read. */
export interface Place {
  readonly processes: SandboxProcesses;
  readonly ref: SandboxRef;
}

export type Begun =
  | { readonly kind: 'started'; readonly program: RunningProgram; readonly run: McpRun }
  /** It runs since before this server of ours, and has introduced itself then. */
  | {
      readonly kind: 'adopted';
      readonly program: RunningProgram;
      readonly run: McpRun;
      readonly introduction: McpIntroduction | null;
    }
  /** It ended while nobody looked. */
  | { readonly kind: 'ended'; readonly run: McpRun; readonly exit: McpExit };

/** What is left of an earlier program has this long to go before the next is started. */
export const leftoversGraceMs = 2_000;

/** Of a program that went with its sandbox nobody knows how it ended: as if by force. */
const gone = { exitCode: 137, signal: 'SIGKILL' } as const;

/** The program that is known to run is taken up again; otherwise one is started, and known before that. */
export async function beginProgram(
  { clock, specs }: McpContext,
  { processes, ref }: Place,
  workspace: Workspace,
  known: McpRun | null,
  remember: (run: McpRun) => Promise<void>,
  signal: AbortSignal,
): Promise<Begun> {
  if (known) {
    const info = await find(processes, ref, known.processId, signal);
    const talks = mcpConfigOf(workspace).transport.kind === 'stdio';
    if (info?.exit) {
      return { kind: 'ended', run: known, exit: { ...info.exit, at: info.endedAt ?? clock.now() } };
    }
    if (!info) return { kind: 'ended', run: known, exit: { ...gone, at: clock.now() } };
    if (!talks || known.introduction) {
      const { introduction } = known;
      const program = { processes, ref, processId: known.processId, offset: info.outputBytes };
      return { kind: 'adopted', program, run: known, introduction };
    }
    // Whoever started it did not hear its introduction, which it gives once.
    await processes.endAll(ref, leftoversGraceMs, signal);
  }
  const { argv, workdir } = programOf(workspace);
  const processId = `mcp-${randomUUID()}`;
  const run: McpRun = { processId, introduction: null, startedAt: clock.now() };
  await remember(run);
  const stdin = mcpConfigOf(workspace).transport.kind === 'stdio';
  const request = { argv, env: specs.env(workspace), stdin, id: processId };
  try {
    await processes.start(ref, { ...request, ...(workdir !== undefined && { workdir }) }, signal);
  } catch (error) {
    throw startFailure(argv[0], error);
  }
  return { kind: 'started', program: { processes, ref, processId, offset: 0 }, run };
}

async function find(
  processes: SandboxProcesses,
  ref: SandboxRef,
  id: string,
  signal: AbortSignal,
): Promise<ProcessInfo | undefined> {
  return (await processes.list(ref, signal)).find((each) => each.id === id);
}

const neverStarts = ['invalid_value', 'file_not_found', 'permission_denied', 'is_directory'];

/** A program that cannot be started now and will not be later, as opposed to a sandbox that does not answer. */
function startFailure(program: string, error: unknown): unknown {
  if (!(error instanceof EmergentError) || !neverStarts.includes(error.code)) return error;
  const message = isMissingProgram(error)
    ? `there is no program "${program}" in the image`
    : `the program cannot be started: ${error.message}`;
  return new EmergentError('no_program', message, { cause: error });
}
