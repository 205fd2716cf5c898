import type { FastifyInstance } from 'fastify';
import type { IncomingMessage, ServerResponse } from 'node:http';

const waiting = new WeakMap<IncomingMessage, ServerResponse>();

/**
 * A client that asks first ("Expect: 100-continue") is told to go on only when its body is about to be read, so
 * one that is refused never sends it.
 */
export function holdContinue(app: FastifyInstance): void {
  app.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    waiting.set(request, response);
    app.routing(request, response);
  });
  // Any other expectation is refused by a hook, like every malformed request.
  app.server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    app.routing(request, response);
  });
}

export function sendContinue(request: IncomingMessage): void {
  waiting.get(request)?.writeContinue();
  waiting.delete(request);
}
