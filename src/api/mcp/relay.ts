import { once } from 'node:events';
import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { withDeadline } from '../../base/deadline.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import { answerHeaders } from './proxy-headers.ts';

export interface Wait {
  /** What is waited for, for the reader. */
  readonly what: string;
  readonly ms: number;
  /** Nobody waits for it any more. */
  readonly signal: AbortSignal;
}

/** The head of the answer. Never asked for twice: what a request does, it may have done before the connection broke. */
export async function answerTo(
  sent: ClientRequest,
  { what, ms, signal }: Wait,
): Promise<IncomingMessage> {
  // A failure after the answer began is told by the answer.
  sent.on('error', () => undefined);
  try {
    const [answer] = (await withDeadline(
      what,
      ms,
      (until) => once(sent, 'response', { signal: until }),
      signal,
    )) as [IncomingMessage];
    return answer;
  } catch (error) {
    sent.destroy();
    throw signal.aborted ? signal.reason : error;
  }
}

export interface Relay {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** Ends it on both sides; to a client that is still there as a whole answer. */
  readonly until: AbortSignal;
  /** What it is called when the other side breaks off: the client can only be cut off too. */
  readonly broken: ErrorCode;
}

/** Passes an answer back as it comes. Whichever side goes first takes the other with it. */
export async function relay(answer: IncomingMessage, to: Relay): Promise<void> {
  const { reply } = to;
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(answer.statusCode ?? 502, {
    ...(reply.getHeaders() as OutgoingHttpHeaders),
    ...answerHeaders(answer.headers),
  });
  raw.flushHeaders();
  // Its failure is noted where it is found; the client's is its own.
  await pipeline(contentOf(answer, to), raw).catch(() => undefined);
}

async function* contentOf(
  answer: IncomingMessage,
  { request, reply, until, broken }: Relay,
): AsyncGenerator<Buffer> {
  const leave = (): void => {
    answer.destroy();
    // What a client does not read cannot be waited for.
    if (reply.raw.writableNeedDrain) reply.raw.destroy();
  };
  until.addEventListener('abort', leave, { once: true });
  if (until.aborted) leave();
  try {
    for await (const chunk of answer) yield chunk as Buffer;
  } catch (error) {
    if (until.aborted) return;
    request.failure = broken;
    throw error;
  } finally {
    until.removeEventListener('abort', leave);
  }
}
