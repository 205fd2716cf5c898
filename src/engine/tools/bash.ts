import type { Clock } from '../../base/clock.ts';
import { bashDefaults } from '../../domain/bash.ts';
import type { BashEvent, BashRequest } from '../../domain/bash.ts';
import type { ExecExit, ExecProcess } from '../../domain/exec.ts';
import type { SandboxRef, WorkspaceProvider } from '../../domain/provider.ts';
import { OutputWindow } from './output-window.ts';

/** A started command: its handle, and its events, ending with exactly one `result`. */
export interface BashRun {
  readonly process: ExecProcess;
  readonly events: AsyncIterable<BashEvent>;
}

/**
 * Runs one shell command through any provider. When the timeout passes, or `signal` aborts because the
 * caller went away, the whole process group gets SIGTERM, five seconds, then SIGKILL; what it printed until
 * then is in the result.
 */
export async function startBash(
  provider: WorkspaceProvider,
  ref: SandboxRef,
  request: BashRequest,
  clock: Clock,
  signal: AbortSignal,
): Promise<BashRun> {
  const startedAt = clock.monotonic();
  const process = await provider.exec(
    ref,
    {
      argv: ['/bin/bash', '-c', request.command],
      ...(request.workdir !== undefined && { workdir: request.workdir }),
      ...(request.env && { env: request.env }),
    },
    signal,
  );
  // From now on, not from the first read: a command that nobody reads has a timeout too.
  const ended = new AbortController();
  const killer = endAtTimeoutOrAbort(process, request.timeoutMs, clock, signal, ended.signal);
  return { process, events: follow(process, killer, ended, clock, startedAt) };
}

async function* follow(
  process: ExecProcess,
  killer: Promise<KillReason>,
  ended: AbortController,
  clock: Clock,
  startedAt: number,
): AsyncGenerator<BashEvent> {
  const stdout = new OutputWindow(bashDefaults.keptBytes);
  const stderr = new OutputWindow(bashDefaults.keptBytes);
  let exit: ExecExit | undefined;
  try {
    yield { type: 'start', pid: process.pid };
    for await (const event of process.events) {
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
    if (!exit) await process.kill('SIGKILL').catch(() => undefined);
  }
  if (!exit) return;
  yield {
    type: 'result',
    result: {
      stdout: stdout.text(),
      stderr: stderr.text(),
      exitCode: exit.exitCode,
      signal: exit.signal,
      timedOut: (await killer) === 'timeout',
      truncated: stdout.truncated || stderr.truncated,
      stdoutBytes: stdout.totalBytes,
      stderrBytes: stderr.totalBytes,
      durationMs: Math.round(clock.monotonic() - startedAt),
    },
  };
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
  await process.kill('SIGTERM').catch(() => undefined);
  await clock.sleep(bashDefaults.killGraceMs, ended).then(
    () => process.kill('SIGKILL').catch(() => undefined),
    () => undefined,
  );
  return why;
}
