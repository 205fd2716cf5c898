import { once } from 'node:events';
import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { Clock } from '../../base/clock.ts';
import { startLoop } from '../../base/loop.ts';
import type { ApiLimits } from '../context.ts';

const keepAliveMs = 30_000;

/**
 * Server-sent events on a reply, from the headers to the end. Sending waits for a slow client; after the client
 * has gone, it does nothing.
 */
export class EventStream implements Disposable {
  readonly #reply: FastifyReply;
  readonly #heartbeat: Disposable;
  readonly #until: AbortSignal | undefined;

  /** `until` aborting ends the stream also under a client that has stopped reading. */
  constructor(reply: FastifyReply, limits: ApiLimits, clock: Clock, until?: AbortSignal) {
    this.#reply = reply;
    this.#until = until;
    reply.hijack();
    // A reader may pause for as long as it likes, as one behind a pager does; keep-alive finds one that is gone.
    reply.raw.socket?.setKeepAlive(true, keepAliveMs);
    reply.raw.writeHead(200, {
      ...(reply.getHeaders() as OutgoingHttpHeaders),
      'content-type': 'text/event-stream; charset=utf-8',
      vary: 'Accept',
      // Proxies that collect answers before passing them on would turn a stream into a wait.
      'x-accel-buffering': 'no',
    });
    reply.raw.flushHeaders();
    this.#heartbeat = startLoop(
      limits.heartbeatMs,
      async () => {
        if (!reply.raw.writableNeedDrain) reply.raw.write(': still here\n\n');
      },
      clock,
      () => undefined,
    );
  }

  /** A client that reconnects names the last `id` it has seen. */
  async send(event: string, data: unknown, id?: number): Promise<void> {
    const { raw } = this.#reply;
    if (raw.destroyed) return;
    const place = id === undefined ? '' : `id: ${String(id)}\n`;
    if (raw.write(`${place}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)) return;
    const waited = new AbortController();
    try {
      await Promise.race([
        once(raw, 'drain', { signal: waited.signal }),
        once(raw, 'close', { signal: waited.signal }),
        ...(this.#until ? [aborted(this.#until, waited.signal)] : []),
      ]);
    } finally {
      waited.abort();
    }
  }

  [Symbol.dispose](): void {
    this.#heartbeat[Symbol.dispose]();
    const { raw } = this.#reply;
    // What a client does not read cannot be waited for when the server wants to close.
    if (this.#until?.aborted === true && raw.writableNeedDrain) raw.destroy();
    else raw.end();
  }
}

async function aborted(signal: AbortSignal, waited: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort', { signal: waited });
}
