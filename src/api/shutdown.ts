import type { FastifyInstance } from 'fastify';

/**
 * Aborts `closing` from the moment `close` is called. Answers in progress go on; a connection ends with the last
 * of them, since `close` waits for every connection.
 */
export function watchClosing(app: FastifyInstance, closing: AbortController): void {
  app.addHook('preClose', async () => {
    closing.abort();
  });
  app.addHook('onSend', async (_request, reply) => {
    if (closing.signal.aborted) reply.header('connection', 'close');
  });
  // For answers that began before: their headers had promised to keep the connection.
  app.addHook('onResponse', async () => {
    if (closing.signal.aborted) app.server.closeIdleConnections();
  });
}
