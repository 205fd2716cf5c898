import type { Clock } from '../../base/clock.ts';
import { abortReason } from '../../base/clock.ts';
import { untilAborted } from '../../base/until-aborted.ts';
import { Failure } from '../failure.ts';
import type { Exit } from '../http/api-types.ts';
import type { ApiClient } from '../http/client.ts';
import { exitCodeOfSignal } from '../exit-codes.ts';
import { note } from '../terminal/output.ts';
import { onSignals } from '../terminal/signals.ts';
import type { OutputSink } from './exec.ts';
import { reconnecting } from './reconnect.ts';

export interface Attachment {
  readonly workspaceId: string;
  readonly processId: string;
  /** Where in the output to begin. */
  readonly offset: number;
}

/**
 * A process's output to `sink`, from a place on until it ends. Breaks of the connection are mended: the next one
 * goes on behind the last byte that the sink has taken. A signal to us leaves the process running.
 */
export async function attach(
  client: ApiClient,
  { workspaceId, processId, offset }: Attachment,
  sink: OutputSink,
  clock: Clock,
): Promise<Exit> {
  const left = new AbortController();
  let position = offset;
  const goOn = (): string =>
    `emergent attach ${workspaceId} ${processId} --offset ${String(position)}`;
  using _signals = onSignals((signal) => {
    left.abort(
      new Failure('detached', 'detached; the process goes on', {
        hint: `To go on: ${goOn()}`,
        exitCode: exitCodeOfSignal(signal),
      }),
    );
  });
  const events = reconnecting(
    () => client.processes.follow(workspaceId, processId, position, left.signal),
    {
      clock,
      signal: left.signal,
      tell: (text) => {
        note(`emergent: ${text}`);
      },
    },
  );
  try {
    for await (const event of events) {
      if (event.type === 'exit') return event.exit;
      if (event.type === 'skipped') tellSkipped(event.bytes);
      else await untilAborted(sink(event.type, event.data), left.signal);
      position = event.offset;
    }
  } catch (error) {
    throw left.signal.aborted ? abortReason(left.signal) : withRemedy(error, goOn());
  }
  throw new Error('the events of a process end with its exit');
}

function tellSkipped(bytes: number): void {
  note(`emergent: ${String(bytes)} bytes of output are no longer kept`);
}

/** A failure of the way to the process leaves it running. */
function withRemedy(error: unknown, remedy: string): unknown {
  if (
    !(error instanceof Failure) ||
    !['connection_lost', 'unreachable', 'no_answer'].includes(error.code)
  ) {
    return error;
  }
  return new Failure(error.code, error.message, {
    hint: `The process goes on; when the server is back: ${remedy}`,
    cause: error,
  });
}
