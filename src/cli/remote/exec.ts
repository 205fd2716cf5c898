import { systemClock } from '../../base/clock.ts';
import { untilAborted } from '../../base/until-aborted.ts';
import { exitCodes } from '../exit-codes.ts';
import { Failure } from '../failure.ts';
import type { BashEvent, BashRequest, BashResult } from '../http/api-types.ts';
import type { ApiClient } from '../http/client.ts';
import { note, write } from '../terminal/output.ts';
import { onSignals } from '../terminal/signals.ts';
import { SignalForwarder } from './signal-forwarder.ts';

/** The longest that the API allows: without --timeout a command may run as long as it likes. */
export const longestTimeoutMs = 24 * 60 * 60 * 1000;

/** Where the command's output goes; each call resolves when the bytes have been taken. */
export type OutputSink = (stream: 'stdout' | 'stderr', data: Buffer) => Promise<void>;

export const toOwnOutput: OutputSink = (stream, data) => write(process[stream], data);

/**
 * Runs a command in a workspace as if it ran here: its output to `sink` as it comes, signals passed on.
 * A command that fails or is killed is a result; a Failure is ours.
 */
export async function execInWorkspace(
  client: ApiClient,
  id: string,
  request: BashRequest,
  sink: OutputSink,
): Promise<BashResult> {
  const forwarder = new SignalForwarder({
    send: (processId, signal) => client.processes.signal(id, processId, signal),
    clock: systemClock,
  });
  using _signals = onSignals((signal) => {
    forwarder.receive(signal);
  });
  try {
    return await follow(client.bash(id, request, forwarder.gaveUp), forwarder, sink);
  } catch (error) {
    throw withWayOn(error, id, forwarder.processId);
  } finally {
    forwarder.ended();
  }
}

async function follow(
  events: AsyncIterable<BashEvent>,
  forwarder: SignalForwarder,
  sink: OutputSink,
): Promise<BashResult> {
  for await (const event of events) {
    switch (event.type) {
      case 'start':
        forwarder.started(event.processId);
        break;
      case 'stdout':
      case 'stderr':
        // A reader that does not read must not keep the user from leaving.
        await untilAborted(sink(event.type, event.data), forwarder.gaveUp);
        break;
      case 'result':
        return event.result;
    }
  }
  throw new Error('the events of a command end with its result');
}

/** A command whose server went away is still running: commands live in the workspace, not in the server. */
function withWayOn(error: unknown, id: string, processId: string | undefined): unknown {
  if (!(error instanceof Failure) || processId === undefined) return error;
  const attach = `emergent attach ${id} ${processId}`;
  const hints: Readonly<Record<string, string>> = {
    connection_lost: `If the server went down, the command goes on; when it is back: ${attach}`,
    shutting_down: `When the server is back: ${attach}`,
  };
  const hint = hints[error.code];
  if (hint === undefined) return error;
  return new Failure(error.code, error.message, {
    hint,
    details: { workspace_id: id, process_id: processId },
    cause: error,
  });
}

/** What our own process ends with after the command's end. */
export function exitCodeOf(result: BashResult, timeoutMs: number): number {
  if (result.interrupted) {
    note('emergent: the workspace was stopped or destroyed, and that ended the command');
  }
  if (!result.timed_out) return result.exit_code;
  note(`emergent: the command timed out after ${String(timeoutMs / 1000)} s`);
  return exitCodes.timedOut;
}
