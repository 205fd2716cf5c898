import type { WebSocket } from 'ws';
import type { Clock } from '../../base/clock.ts';
import { startLoop } from '../../base/loop.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { OutputEvent } from '../../domain/exec.ts';
import type { Terminal } from '../../engine/engine.ts';
import { closeCodes } from '../schemas/terminal.ts';
import type { TerminalNotice } from '../schemas/terminal.ts';
import { TerminalInput } from './input.ts';

export interface SessionOptions {
  readonly clock: Clock;
  readonly pingMs: number;
  readonly closing: AbortSignal;
  /** The error as callers are told of it; notes it on the way. */
  readonly describe: (failure: unknown) => unknown;
  /** Ends the attachment. */
  readonly leave: () => void;
}

/** What a client gets to answer our goodbye. */
const goodbyeMs = 1_000;

/**
 * Carries bytes between a WebSocket and a terminal until one of them ends or the server stops. At any moment one
 * piece of output is under way: a client that does not read stops the reading, and what it misses in the end is
 * told by `skipped`.
 */
export async function runSession(
  socket: WebSocket,
  terminal: Terminal,
  options: SessionOptions,
): Promise<void> {
  const { clock, closing, describe, leave } = options;
  const gone = new AbortController();
  socket.once('close', () => {
    gone.abort();
    leave();
  });
  socket.on('error', () => undefined);
  using _alive = keepAlive(socket, options);
  const end = async (code: number, failure?: unknown): Promise<void> => {
    if (failure !== undefined) await send(socket, { type: 'error', error: describe(failure) });
    close(socket, code, clock, gone.signal);
  };
  const onClosing = (): void => {
    close(socket, closeCodes.restarting, clock, gone.signal);
  };
  closing.addEventListener('abort', onClosing, { once: true });
  const input = new TerminalInput(socket, terminal, (failure) => {
    void end(isRefusal(failure) ? closeCodes.refused : closeCodes.failed, failure);
  });
  try {
    const { processId, pid, offset } = terminal;
    await send(socket, { type: 'ready', process_id: processId, pid, offset });
    if (closing.aborted) onClosing();
    for await (const event of terminal.events) {
      await sendEvent(socket, event);
      // Already closing: what is sent goes nowhere, and at once.
      if (event.type !== 'exit' && socket.readyState !== socket.OPEN) return;
    }
    await end(closeCodes.ended);
  } catch (failure) {
    if (!closing.aborted && !gone.signal.aborted) await end(closeCodes.failed, failure);
  } finally {
    input.stop();
    closing.removeEventListener('abort', onClosing);
    leave();
  }
}

function isRefusal(failure: unknown): boolean {
  return failure instanceof EmergentError && failure.code === 'invalid_value';
}

async function sendEvent(socket: WebSocket, event: OutputEvent): Promise<void> {
  if (event.type === 'exit') {
    await send(socket, { type: 'exit', exit_code: event.exitCode, signal: event.signal });
  } else if (event.type === 'skipped') {
    await send(socket, { type: 'skipped', bytes: event.bytes });
  } else {
    await send(socket, event.data);
  }
}

/** Resolves when the message has left this process; also when the client is gone, whose close tells of it. */
function send(socket: WebSocket, message: Uint8Array | TerminalNotice): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const data = message instanceof Uint8Array ? message : JSON.stringify(message);
  socket.send(data, () => {
    resolve();
  });
  return promise;
}

/** A client that does not answer the goodbye, because it does not read, is left without. */
function close(socket: WebSocket, code: number, clock: Clock, gone: AbortSignal): void {
  socket.close(code);
  clock.sleep(goodbyeMs, gone).then(
    () => {
      socket.terminate();
    },
    () => undefined,
  );
}

/** A client behind a dead network would stay attached, and its workspace in use, for ever. */
function keepAlive(socket: WebSocket, { clock, pingMs }: SessionOptions): Disposable {
  let answered = true;
  socket.on('pong', () => {
    answered = true;
  });
  const ping = async (): Promise<void> => {
    if (!answered) socket.terminate();
    answered = false;
    if (socket.readyState === socket.OPEN) socket.ping();
  };
  return startLoop(pingMs, ping, clock, () => {
    socket.terminate();
  });
}
