import { request as requestHttp } from 'node:http';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { withDeadline } from '../../base/deadline.ts';
import { asFailure } from './failures.ts';

const connectMs = 10_000;
/** A server that vanished without closing the connection is noticed by the kernel's probes. */
const keepAliveMs = 30_000;

export interface Exchange {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Readable;
  /** From the moment the request is sent whole to the head of the answer; the answer's body has no limit. */
  readonly answerMs: number;
  readonly signal?: AbortSignal;
}

/**
 * One request on a connection of its own. Resolves with the head of the answer; whoever gets it consumes or
 * destroys it. Connecting and waiting for the answer have deadlines; sending and receiving a body run as long
 * as they need. Fails with a Failure.
 */
export async function exchange(request: Exchange): Promise<IncomingMessage> {
  const { url, method, body, headers, signal } = request;
  const send = url.protocol === 'https:' ? requestHttps : requestHttp;
  const outgoing = send(url, { method, headers, agent: false, ...(signal && { signal }) });
  const answered = answerTo(outgoing);
  try {
    await withDeadline(`connecting to ${url.origin}`, connectMs, () =>
      Promise.race([connected(outgoing), answered]),
    );
    if (body === undefined || typeof body === 'string') outgoing.end(body);
    else await sendBody(outgoing, body, answered);
    return await withDeadline(`the answer of ${url.origin}`, request.answerMs, () => answered);
  } catch (error) {
    outgoing.destroy();
    throw asFailure(error, url.origin, signal);
  }
}

/**
 * An answer that comes before everything was sent is a refusal: the rest stays unsent, and the connection open
 * until the refusal has been read.
 */
async function sendBody(
  outgoing: ClientRequest,
  body: Readable,
  answered: Promise<IncomingMessage>,
): Promise<void> {
  const refused = answered.then(() => true);
  refused.catch(() => undefined);
  for await (const chunk of body as AsyncIterable<Buffer>) {
    const drained = outgoing.write(chunk) ? [false] : [once(outgoing, 'drain').then(() => false)];
    if (await Promise.race([refused, ...drained])) return;
  }
  outgoing.end();
}

function answerTo(outgoing: ClientRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  outgoing.once('response', resolve);
  // Stays for the life of the request: an error after the answer is reported by the answer's own stream.
  outgoing.on('error', reject);
  promise.catch(() => undefined);
  return promise;
}

function connected(outgoing: ClientRequest): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  outgoing.once('socket', (socket) => {
    socket.setKeepAlive(true, keepAliveMs);
    if (!socket.connecting) resolve();
    else socket.once('connect', resolve);
  });
  return promise;
}
