import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/**
 * Aborts `closing` from the moment `close` is called. Answers in progress go on; a connection ends with the last
 * of them, since `close` waits for every connection.
 */
export function watchClosing(app: FastifyInstance, closing: AbortController): void {
  const unused = watchUnused(app);
  app.addHook('preClose', async () => {
    closing.abort();
    for (const socket of unused) socket.destroy();
  });
  app.addHook('onSend', async (_request, reply) => {
    if (closing.signal.aborted) reply.header('connection', 'close');
  });
  // For answers that began before: their headers had promised to keep the connection.
  app.addHook('onResponse', async () => {
    if (closing.signal.aborted) app.server.closeIdleConnections();
  });
}

/**
 * Connections on which no request has begun. Clients open some in reserve; to Node they are not idle, so it would
 * wait for their first request, up to its time limit.
 */
function watchUnused(app: FastifyInstance): ReadonlySet<Socket> {
  const unused = new Set<Socket>();
  app.server.on('connection', (socket: Socket) => {
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
  });
  for (const event of ['request', 'checkContinue', 'checkExpectation', 'upgrade']) {
    app.server.on(event, ({ socket }: IncomingMessage) => unused.delete(socket));
  }
  return unused;
}
