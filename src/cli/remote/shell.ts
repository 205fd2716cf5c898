import { abortReason } from '../../base/clock.ts';
import type { Clock } from '../../base/clock.ts';
import { untilAborted } from '../../base/until-aborted.ts';
import { exitCodeOfSignal, exitCodes } from '../exit-codes.ts';
import { Failure } from '../failure.ts';
import type { Exit } from '../http/api-types.ts';
import type { ApiClient } from '../http/client.ts';
import type { TerminalConnection, TerminalEvent, TerminalPlace } from '../http/terminal-client.ts';
import { write } from '../terminal/output.ts';
import { noteOnScreen, onResize, rawKeys, screenSize } from '../terminal/screen.ts';
import { onSignals } from '../terminal/signals.ts';
import { Keyboard } from './keyboard.ts';
import { reconnecting } from './reconnect.ts';

/**
 * This terminal, or these pipes, at a terminal in a workspace until what runs there ends. Breaks of the connection
 * are mended, and the next one goes on behind the last byte that was shown. Detaching, by a key or a signal to us,
 * leaves it running and ends in a Failure that says how to come back.
 */
export async function shell(
  client: ApiClient,
  workspaceId: string,
  from: TerminalPlace,
  clock: Clock,
): Promise<Exit> {
  const left = new AbortController();
  let place = from;
  let connection: TerminalConnection | undefined;
  const detach = (exitCode: number): void => {
    left.abort(
      new Failure('detached', 'detached; the terminal goes on', {
        exitCode,
        ...('processId' in place && { hint: comeBack(workspaceId, place.processId) }),
      }),
    );
  };
  using _signals = onSignals((signal) => {
    detach(exitCodeOfSignal(signal));
  });
  using _resizes = onResize(() => connection?.resize(screenSize()));
  using keyboard = new Keyboard(() => {
    detach(exitCodes.ok);
  });
  // Last, so that the terminal is itself again before anything else is said.
  using _raw = rawKeys();

  const open = async (): Promise<AsyncIterable<TerminalEvent>> => {
    connection = await client.terminals.open(workspaceId, place, screenSize(), left.signal);
    return withKeyboard(connection, keyboard);
  };
  const tell = (text: string): void => {
    noteOnScreen(`emergent: ${text}`);
  };
  try {
    for await (const event of reconnecting(open, { clock, signal: left.signal, tell })) {
      if (event.type === 'exit') return event.exit;
      if (event.type === 'ready') place = { processId: event.processId, offset: event.offset };
      else place = await shown(event, place, left.signal);
    }
  } catch (error) {
    throw left.signal.aborted ? abortReason(left.signal) : withRemedy(error, workspaceId, place);
  }
  throw new Error('the events of a terminal end with its exit');
}

/** What is typed goes to the connection while it lasts, and waits for the next one afterwards. */
async function* withKeyboard(
  connection: TerminalConnection,
  keyboard: Keyboard,
): AsyncGenerator<TerminalEvent> {
  keyboard.connect(connection);
  try {
    yield* connection.events;
  } finally {
    keyboard.connect(undefined);
  }
}

/** The place behind the event, once it is on the screen. */
async function shown(
  event: Extract<TerminalEvent, { type: 'output' | 'skipped' }>,
  place: TerminalPlace,
  signal: AbortSignal,
): Promise<TerminalPlace> {
  if (event.type === 'output') await untilAborted(write(process.stdout, event.data), signal);
  const bytes = event.type === 'output' ? event.data.length : event.bytes;
  return 'processId' in place ? { ...place, offset: place.offset + bytes } : place;
}

function comeBack(workspaceId: string, processId: string): string {
  return `To come back: emergent shell ${workspaceId} --attach ${processId}`;
}

/** A failure of the way to the terminal leaves it running. */
function withRemedy(error: unknown, workspaceId: string, place: TerminalPlace): unknown {
  const isWay =
    error instanceof Failure &&
    ['connection_lost', 'unreachable', 'no_answer'].includes(error.code);
  if (!isWay || !('processId' in place)) return error;
  return new Failure(error.code, error.message, {
    hint: `The terminal goes on. ${comeBack(workspaceId, place.processId)}`,
    cause: error,
  });
}
