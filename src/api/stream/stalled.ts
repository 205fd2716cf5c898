import type { FastifyReply } from 'fastify';
import type { ApiLimits } from '../context.ts';

/** Ends the connection of a client that stops taking its answer: it would hold the socket for ever. */
export function endStalled(reply: FastifyReply, { stallMs }: ApiLimits): void {
  reply.raw.setTimeout(stallMs, () => {
    reply.raw.destroy();
  });
}
