import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../base/clock.ts';
import { closeLingering } from './linger.ts';

/**
 * An answer given before the body was read (no token, too large, no such workspace) ends the connection: what is
 * still on its way cannot be told from a next request without reading it all.
 */
export function closeIfBodyUnread(
  request: FastifyRequest,
  reply: FastifyReply,
  clock: Clock,
): void {
  const { raw } = request;
  if (raw.complete) return;
  reply.header('connection', 'close');
  // Node calls this when the answer is written and it means to close.
  raw.socket.destroySoon = () => {
    raw.resume();
    closeLingering(raw.socket, clock);
  };
}
