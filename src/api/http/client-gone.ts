import type { FastifyReply } from 'fastify';
import { EmergentError } from '../../domain/errors.ts';

/** Aborts when the client goes away before it has the whole answer. */
export function clientGone(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once('close', () => {
    if (reply.raw.writableFinished) return;
    controller.abort(new EmergentError('client_closed', 'the client closed the connection'));
  });
  return controller.signal;
}
