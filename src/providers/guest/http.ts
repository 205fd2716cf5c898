import type { ClientHttp2Stream, OutgoingHttpHeaders } from 'node:http2';
import { PassThrough } from 'node:stream';
import type { Readable, Writable } from 'node:stream';
import { EmergentError } from '../../domain/errors.ts';
import { toEmergentError } from './errors.ts';
import type { GuestLink } from './link.ts';

export interface GuestRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: AsyncIterable<Uint8Array>;
  readonly signal?: AbortSignal;
}

export interface GuestResponse {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: Readable;
}

/**
 * Sends one HTTP request to the agent; resolves with the head of the answer. Aborting ends the request and its
 * answer at any time. A body that fails while it is sent fails the request with that reason.
 */
export type GuestSend = (request: GuestRequest) => Promise<GuestResponse>;

const bodyBufferBytes = 2 ** 20;

/** Requests as streams of the workspace's HTTP/2 session. */
export function sessionSend(link: Pick<GuestLink, 'request'>): GuestSend {
  return async ({ method, path, headers, body, signal }) => {
    signal?.throwIfAborted();
    const stream = await link.request(
      { ...headers, ':method': method, ':path': path },
      { endStream: !body, ...(signal && { signal }) },
    );
    const answer = answerOf(stream);
    if (body) void sendBody(body, stream);
    return answer;
  };
}

/**
 * The body is piped on as soon as the head is there: an http2 stream counts as closed when its last frame has
 * come, read or not, and Node then refuses to iterate over it. Through a bridge a whole short answer comes in
 * one piece, so that is the common case here.
 */
function answerOf(stream: ClientHttp2Stream): Promise<GuestResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<GuestResponse>();
  const body = new PassThrough({ highWaterMark: bodyBufferBytes });
  // Whoever reads the body sees its failure; before that, the rejection tells.
  body.on('error', () => undefined);
  stream.once('response', (headers) => {
    stream.pipe(body, { end: false });
    resolve({ status: Number(headers[':status']), headers, body });
  });
  // A stream whose session was destroyed "ends" too: only one that is still whole has come to its end.
  stream.once('end', () => {
    if (!stream.destroyed) body.end();
  });
  stream.once('error', (error) => {
    const reason = toEmergentError(error, 'calling the sandbox agent');
    reject(reason);
    body.destroy(reason);
  });
  stream.once('close', () => {
    const reason = new EmergentError('sandbox_unreachable', 'the sandbox went away');
    reject(reason);
    if (!body.writableEnded) body.destroy(reason);
  });
  body.once('close', () => {
    stream.close();
  });
  return promise;
}

/** Stops by itself when the stream is gone: the agent may refuse before it has read everything. */
export async function sendBody(body: AsyncIterable<Uint8Array>, stream: Writable): Promise<void> {
  try {
    for await (const chunk of body) {
      if (stream.destroyed) return;
      if (!stream.write(chunk)) await writableAgain(stream);
    }
    stream.end();
  } catch (error) {
    stream.destroy(error instanceof Error ? error : new Error(String(error)));
  }
}

function writableAgain(stream: Writable): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const go = (): void => {
    stream.off('drain', go);
    stream.off('close', go);
    resolve(undefined);
  };
  stream.on('drain', go);
  stream.on('close', go);
  if (stream.destroyed) go();
  return promise;
}
