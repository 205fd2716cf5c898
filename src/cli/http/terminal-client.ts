import type { WebSocket } from 'ws';
import { Failure } from '../failure.ts';
import type { Exit } from './api-types.ts';
import { connectionLost, errorIn } from './failures.ts';
import type { Transport } from './transport.ts';

export interface ScreenSize {
  readonly cols: number;
  readonly rows: number;
}

/** A new terminal, or one to come back to. */
export type TerminalPlace =
  { readonly command?: string } | { readonly processId: string; readonly offset: number };

export type TerminalEvent =
  | { readonly type: 'ready'; readonly processId: string; readonly offset: number }
  | { readonly type: 'output'; readonly data: Buffer }
  | { readonly type: 'skipped'; readonly bytes: number }
  | { readonly type: 'exit'; readonly exit: Exit };

export interface TerminalConnection {
  /** Ends after `exit`; fails when the connection ends before. Not reading holds the server back. */
  readonly events: AsyncIterable<TerminalEvent>;
  /** Resolves when the bytes have left; those for a connection that is gone are lost. */
  input(data: Uint8Array): Promise<void>;
  resize(size: ScreenSize): void;
}

/** The part of the API about terminals. */
export class TerminalClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** `signal` ends the connection, at any time. */
  async open(
    workspaceId: string,
    place: TerminalPlace,
    { cols, rows }: ScreenSize,
    signal: AbortSignal,
  ): Promise<TerminalConnection> {
    const at =
      'processId' in place
        ? { process_id: place.processId, offset: String(place.offset) }
        : { command: place.command };
    const socket = await this.#transport.socket({
      path: `/agent/workspaces/${encodeURIComponent(workspaceId)}/terminal`,
      query: { ...at, cols: String(cols), rows: String(rows) },
      signal,
    });
    return {
      events: eventsOf(socket, this.#transport.origin, signal),
      input: (data) =>
        new Promise((resolve) => {
          socket.send(data, () => {
            resolve();
          });
        }),
      resize: (size) => {
        if (socket.readyState === socket.OPEN)
          socket.send(JSON.stringify({ type: 'resize', ...size }));
      },
    };
  }
}

/** The socket comes paused, and is paused again behind every message until that is read. */
function eventsOf(
  socket: WebSocket,
  origin: string,
  signal: AbortSignal,
): AsyncIterable<TerminalEvent> {
  const received: TerminalEvent[] = [];
  let failure: Error | undefined;
  let news = Promise.withResolvers<void>();
  const fail = (error: Error): void => {
    failure ??= error;
    news.resolve();
  };
  socket.on('message', (data, isBinary) => {
    // Before it is read no more is taken from the connection.
    socket.pause();
    try {
      received.push(...parse(data as Buffer, isBinary));
    } catch (error) {
      fail(error as Error);
    }
    news.resolve();
  });
  socket.once('close', () => {
    fail(connectionLost(origin));
  });
  const leave = (): void => {
    fail(signal.reason as Error);
    socket.terminate();
  };
  if (signal.aborted) leave();
  signal.addEventListener('abort', leave, { once: true });

  async function* read(): AsyncGenerator<TerminalEvent> {
    try {
      for (;;) {
        for (const event of received.splice(0)) {
          yield event;
          if (event.type === 'exit') return;
        }
        if (failure && received.length === 0) throw failure;
        news = Promise.withResolvers();
        socket.resume();
        await news.promise;
      }
    } finally {
      signal.removeEventListener('abort', leave);
      socket.terminate();
    }
  }
  return { [Symbol.asyncIterator]: read };
}

function parse(data: Buffer, isBinary: boolean): TerminalEvent[] {
  if (isBinary) return [{ type: 'output', data }];
  const notice = JSON.parse(data.toString()) as Readonly<Record<string, unknown>>;
  switch (notice['type']) {
    case 'ready':
      return [
        {
          type: 'ready',
          processId: String(notice['process_id']),
          offset: Number(notice['offset']),
        },
      ];
    case 'skipped':
      return [{ type: 'skipped', bytes: Number(notice['bytes']) }];
    case 'exit':
      return [{ type: 'exit', exit: notice as unknown as Exit }];
    case 'error': {
      const error = errorIn(notice);
      throw new Failure(error?.code ?? 'unexpected_answer', error?.message ?? 'it failed', {
        ...(error?.hint !== undefined && { hint: error.hint }),
      });
    }
    default:
      return [];
  }
}
