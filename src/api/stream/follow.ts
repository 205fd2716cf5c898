import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiContext } from '../context.ts';
import { errorBodyOf, recordFailure } from '../errors/error-reply.ts';
import { clientGone } from '../http/client-gone.ts';
import { EventStream } from './event-stream.ts';

/** One server-sent event. */
export interface Frame {
  readonly event: string;
  readonly data: unknown;
  /** The place from which a client goes on that has seen this one. */
  readonly id?: number;
}

/**
 * Aborts when the client goes away or the server begins to close: for reading what has no end of its own, and
 * can be taken up again at the same place.
 */
export function followingEnds(reply: FastifyReply, { closing }: ApiContext): AbortSignal {
  return AbortSignal.any([clientGone(reply), closing]);
}

/**
 * Sends frames until they end. A server that closes ends the stream without a word: its client goes on from the
 * last id when the server is back.
 */
export async function sendFrames(
  frames: AsyncIterable<Frame>,
  request: FastifyRequest,
  reply: FastifyReply,
  { limits, clock, log, closing }: ApiContext,
): Promise<void> {
  using stream = new EventStream(reply, limits, clock, closing);
  try {
    for await (const { event, data, id } of frames) {
      await stream.send(event, data, id);
      if (closing.aborted) return;
    }
  } catch (failure) {
    if (closing.aborted) return;
    await stream.send('error', errorBodyOf(recordFailure(failure, request, log), request.id));
  }
}
