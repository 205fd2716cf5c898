import type { Clock } from '../../base/clock.ts';
import { untilAborted } from '../../base/until-aborted.ts';
import { bashDefaults } from '../../domain/bash.ts';
import type { BashEvent, BashRequest } from '../../domain/bash.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { ExecEnd, ExecProcess } from '../../domain/exec.ts';
import type { SandboxRef, WorkspaceProvider } from '../../domain/provider.ts';
import type { Workspace } from '../../domain/workspace.ts';
import { OutputWindow } from './output-window.ts';
import { withShell } from './shell.ts';

/** What a run of bash needs besides the command. */
export interface BashSurroundings {
  readonly provider: WorkspaceProvider;
  readonly ref: SandboxRef;
  readonly workspace: Pick<Workspace, 'image'>;
  readonly processId: string;
  readonly clock: Clock;
  /** The caller went away: the command ends. */
  readonly signal: AbortSignal;
  /** The server goes away: the command stays, and can be read again by its process id. */
  readonly leaving: AbortSignal;
  /** Whether a command that a signal ended was ended with its workspace. */
  readonly wasInterrupted: () => Promise<boolean>;
}

/**
 * Runs one shell command through any provider; its events end with exactly one `result`. When the timeout
 * passes, or `signal` aborts, the whole process group gets SIGTERM, five seconds, then SIGKILL; the result comes when
 * nobody of it is left, with what the command printed until then.
 */
export async function startBash(
  request: BashRequest,
  surroundings: BashSurroundings,
): Promise<AsyncIterable<BashEvent>> {
  const { provider, ref, workspace, processId, clock, signal, leaving } = surroundings;
  const startedAt = clock.monotonic();
  const settings = {
    id: processId,
    ...(request.workdir !== undefined && { workdir: request.workdir }),
    ...(request.env && { env: request.env }),
  };
  const process = await withShell(workspace, (shell) =>
    provider.exec(ref, { argv: [shell, '-c', request.command], ...settings }, signal),
  );
  // From now on, not from the first read: a command that nobody reads has a timeout too.
  const ended = new AbortController();
  const over = AbortSignal.any([ended.signal, leaving]);
  const killer = endAtTimeoutOrAbort(process, request.timeoutMs, clock, signal, over);
  return follow(process, killer, ended, surroundings, startedAt);
}

async function* follow(
  process: ExecProcess,
  killer: Promise<KillReason>,
  ended: AbortController,
  { processId, clock, leaving, wasInterrupted }: BashSurroundings,
  startedAt: number,
): AsyncGenerator<BashEvent> {
  const stdout = new OutputWindow(bashDefaults.keptBytes);
  const stderr = new OutputWindow(bashDefaults.keptBytes);
  let exit: ExecEnd | undefined;
  try {
    yield { type: 'start', pid: process.pid, processId };
    for await (const event of untilLeaving(process.events, leaving, processId)) {
      if (event.type === 'exit') {
        exit = event;
      } else {
        (event.type === 'stdout' ? stdout : stderr).push(event.data);
        yield event;
      }
    }
  } finally {
    ended.abort();
    // A reader that stops early leaves nobody to watch the command, so it must not live on. If the link to
    // the sandbox is gone, that failure is the one to report, not this call's.
    if (!exit && !leaving.aborted) await process.kill('SIGKILL').catch(() => undefined);
  }
  if (!exit) return;
  const why = await killer;
  yield {
    type: 'result',
    result: {
      stdout: stdout.text(),
      stderr: stderr.text(),
      exitCode: exit.exitCode,
      signal: exit.signal,
      timedOut: why === 'timeout',
      // What outlives a command by itself was meant to.
      background: why === 'ended' && exit.background === true,
      interrupted: why === 'ended' && exit.signal !== null && (await wasInterrupted()),
      truncated: stdout.truncated || stderr.truncated,
      stdoutBytes: stdout.totalBytes,
      stderrBytes: stderr.totalBytes,
      durationMs: Math.round(clock.monotonic() - startedAt),
    },
  };
}

/** Stops reading when the server leaves, and says where the rest will be found. */
async function* untilLeaving<T>(
  events: AsyncIterable<T>,
  leaving: AbortSignal,
  processId: string,
): AsyncGenerator<T> {
  const iterator = events[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await untilAborted(iterator.next(), leaving);
      if (next.done === true) return;
      yield next.value;
    }
  } catch (error) {
    if (!leaving.aborted) throw error;
    throw new EmergentError(
      'shutting_down',
      `the server is stopping; the command goes on in the workspace as process ${processId}`,
      {
        hint: 'Read on with `emergent attach` when the server is back.',
        details: { process_id: processId },
      },
    );
  }
}

type KillReason = 'timeout' | 'abort' | 'ended';

/** Tells why it stepped in; `ended` calls it off. */
async function endAtTimeoutOrAbort(
  process: ExecProcess,
  timeoutMs: number,
  clock: Clock,
  signal: AbortSignal,
  ended: AbortSignal,
): Promise<KillReason> {
  const why = await clock.sleep(timeoutMs, AbortSignal.any([signal, ended])).then(
    () => 'timeout' as const,
    () => (ended.aborted ? ('ended' as const) : ('abort' as const)),
  );
  if (why === 'ended') return why;
  // Not called off by the command's end, which its children may outlive. Who cannot be ended so is killed; a sandbox
  // that is gone needs no killing.
  await process
    .end(bashDefaults.killGraceMs)
    .catch(() => process.kill('SIGKILL'))
    .catch(() => undefined);
  return why;
}
