import { once } from 'node:events';
import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import type { ClientRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { urlToHttpOptions } from 'node:url';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DeadlineError, withDeadline } from '../../base/deadline.ts';
import { reasonOf } from '../../base/reason.ts';
import { systemCode } from '../../base/system-code.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { Peer } from '../../domain/store.ts';
import type { McpPeers } from '../../engine/mcp/peers.ts';
import type { ApiContext } from '../context.ts';
import { callerOf } from '../context.ts';
import { readBody } from '../http/body-reader.ts';
import { clientGone } from '../http/client-gone.ts';
import { closeIfBodyUnread } from '../http/unread-body.ts';
import { mcpRef } from '../schemas/mcp-ref.ts';
import { forwardedBy, passedOnHeaders } from './proxy-headers.ts';
import { answerTo, relay } from './relay.ts';
import { callTimeoutMs } from './session-calls.ts';

const connectMs = 5_000;
/** The longest call, and before it the start of what is called. */
const answerMs = callTimeoutMs + 300_000;
const connections = {
  keepAlive: true,
  // Finds a peer that is gone without a word, also in the middle of a stream that nobody writes to.
  keepAliveMsecs: 30_000,
  // Of an idle one; well below what servers keep it for: one that they are about to close must not be used again.
  timeout: 2_000,
} as const;

/**
 * Requests for MCP servers that another server of ours hosts go to that one before anything of their body is read, and
 * its answers come back as they are given. What a caller may do is for the host to say: it sees the caller's own token.
 */
export class PassOn implements Disposable {
  readonly #peers: McpPeers | undefined;
  readonly #context: ApiContext;
  readonly #http = new HttpAgent(connections);
  readonly #https = new HttpsAgent(connections);
  #count = 0;

  constructor(peers: McpPeers | undefined, context: ApiContext) {
    this.#peers = peers;
    this.#context = context;
  }

  /** How many requests went to another server. */
  get count(): number {
    return this.#count;
  }

  /** For `onRequest`, after the token is known. */
  readonly hook = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { headers } = request;
    const ref = mcpRef.safeParse((request.params as { readonly id?: unknown }).id);
    // Once only: two servers that each take the other for the host would send it to and fro.
    if (!this.#peers || !ref.success || headers[forwardedBy] !== undefined) return;
    const peer = await this.#peers.hostOf(callerOf(request), ref.data);
    if (!peer) return;
    this.#count += 1;
    request.passedTo = peer.number;
    await this.#pass(peer, this.#peers.number, request, reply);
  };

  [Symbol.dispose](): void {
    this.#http.destroy();
    this.#https.destroy();
  }

  /** Fails before the answer has begun, or not at all. */
  async #pass(peer: Peer, by: number, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { clock, limits, closing } = this.#context;
    const gone = clientGone(reply);
    // What is only listened to has no end of its own; a call is given its time.
    const signal = request.method === 'GET' ? AbortSignal.any([gone, closing]) : gone;
    const sent = this.#open(peer, by, request);
    try {
      await connected(sent, peer, signal);
      const bounds = { maxBytes: Number.POSITIVE_INFINITY, stallMs: limits.requestMs };
      void sendBody(readBody(request.raw, bounds, clock), sent);
      const what = `the answer of ${nameOf(peer)}`;
      const answer = await answerTo(sent, { what, ms: answerMs, signal }).catch(
        (error: unknown) => {
          throw asFailure(error, peer, signal);
        },
      );
      closeIfBodyUnread(request, reply, clock);
      await relay(answer, { request, reply, until: signal, broken: 'host_failed' });
    } finally {
      // Answered before it had the whole body: its connection serves nobody else.
      if (!sent.writableFinished) sent.destroy();
    }
  }

  #open({ url }: Peer, by: number, { raw, id }: FastifyRequest): ClientRequest {
    const base = new URL(url);
    const options = {
      ...urlToHttpOptions(base),
      method: raw.method,
      path: base.pathname.replace(/\/$/, '') + pathOf(raw.url ?? '/'),
      headers: passedOnHeaders(raw.headers, by, id),
    };
    return base.protocol === 'https:'
      ? httpsRequest({ ...options, agent: this.#https })
      : httpRequest({ ...options, agent: this.#http });
  }
}

/** As it was sent; a client may send it with the server's own address before it. */
function pathOf(url: string): string {
  return url.startsWith('/') ? url : url.replace(/^[a-z]+:\/\/[^/]*/i, '');
}

/** Nothing has been sent before. */
async function connected(sent: ClientRequest, peer: Peer, signal: AbortSignal): Promise<void> {
  // Told to whoever waits at that moment.
  sent.on('error', () => undefined);
  const event = peer.url.startsWith('https:') ? 'secureConnect' : 'connect';
  const connect = async (until: AbortSignal): Promise<void> => {
    const [socket] = (await once(sent, 'socket', { signal: until })) as [Socket];
    if (socket.connecting) await once(socket, event, { signal: until });
  };
  try {
    await withDeadline('the connection', connectMs, connect, signal);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw new EmergentError(
      'host_unreachable',
      `${nameOf(peer)} cannot be reached: ${wordsFor(error)}`,
      { cause: error },
    );
  }
}

/** As it comes, and no faster than it is taken; no longer than until it is answered. */
async function sendBody(chunks: AsyncIterable<Buffer>, sent: ClientRequest): Promise<void> {
  const over = new AbortController();
  const stop = (): void => {
    over.abort();
  };
  sent.once('close', stop).once('response', stop);
  try {
    for await (const chunk of chunks) {
      if (over.signal.aborted) return;
      if (!sent.write(chunk)) await once(sent, 'drain', { signal: over.signal });
    }
    sent.end();
  } catch (error) {
    // Whoever waits for the answer is told why there will be none.
    if (!over.signal.aborted) sent.destroy(error as Error);
  }
}

function asFailure(error: unknown, peer: Peer, signal: AbortSignal): unknown {
  const known = error instanceof EmergentError || error instanceof DeadlineError;
  if (known || signal.aborted) return error;
  return new EmergentError(
    'host_failed',
    `${nameOf(peer)} broke off before it answered: ${wordsFor(error)}`,
    { cause: error },
  );
}

/** Its address is not for callers to know; the log has it. */
function nameOf({ number }: Peer): string {
  return `server ${String(number)}, which hosts it,`;
}

function wordsFor(error: unknown): string {
  return systemCode(error) || reasonOf(error);
}
