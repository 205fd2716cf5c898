import { Code, ConnectError } from '@connectrpc/connect';
import { withDeadline } from '../../base/deadline.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { ExecRequest } from '../../domain/exec.ts';
import { missingProgram } from '../../domain/missing-program.ts';
import { toEmergentError } from './errors.ts';
import { rest } from './output.ts';
import type { EventStream, ProcessClient, Selector } from './process-client.ts';
import { selectorOf, sendSignal } from './process-client.ts';

const startDeadlineMs = 15_000;

/** A command that the agent has started. */
export interface StartedCommand {
  readonly pid: number;
  /** By the sandbox's clock. */
  readonly startedAtMs: bigint;
  readonly process: Selector;
  /** Its events after the start. */
  readonly events: EventStream;
  /** Aborting it ends the events, not the command. */
  readonly reading: AbortController;
}

/** Starts a command through the agent; `signal` bounds the start only. */
export async function startCommand(
  client: ProcessClient,
  request: ExecRequest,
  detached: boolean,
  signal: AbortSignal,
): Promise<StartedCommand> {
  const reading = new AbortController();
  const started = confirmedStart(client, request, detached, reading);
  try {
    return await withDeadline('starting a command', startDeadlineMs, () => started, signal);
  } catch (error) {
    void abandon(client, started, reading);
    throw startFailure(request.argv[0], error);
  }
}

function startFailure(program: string, error: unknown): Error {
  const failure = toEmergentError(error, `starting ${program}`);
  const isMissing = error instanceof ConnectError && error.code === Code.NotFound;
  return isMissing ? missingProgram(program, failure.message, error) : failure;
}

async function confirmedStart(
  client: ProcessClient,
  { argv: [cmd, ...args], env, workdir, stdin = false, pty, id }: ExecRequest,
  detached: boolean,
  reading: AbortController,
): Promise<StartedCommand> {
  const process = { cmd, args, envs: { ...env }, ...(workdir !== undefined && { cwd: workdir }) };
  const stream = client.start(
    {
      process,
      stdin,
      detached,
      ...(pty && { pty: { size: pty } }),
      ...(id !== undefined && { tag: id }),
    },
    { signal: reading.signal },
  );
  const events = stream[Symbol.asyncIterator]();
  const first = await events.next();
  const event = first.done === true ? undefined : first.value.event?.event;
  if (event?.case !== 'start') {
    throw new EmergentError('sandbox_unreachable', 'the agent did not confirm the start');
  }
  const { pid, startedAtMs } = event.value;
  return { pid, startedAtMs, process: selectorOf(id, pid), events: rest(events), reading };
}

/** A command may start although its caller has given up; nobody would watch it, so it is ended. */
async function abandon(
  client: ProcessClient,
  started: Promise<StartedCommand>,
  reading: AbortController,
): Promise<void> {
  try {
    const { process } = await withDeadline('an abandoned start', startDeadlineMs, () => started);
    await sendSignal(client, process, 'SIGKILL');
  } catch {
    // It did not start, or the sandbox is gone: the caller has been told why.
  } finally {
    reading.abort();
  }
}
