import type { FastifyReply, FastifyRequest } from 'fastify';
import { errorStatus } from './error-status.ts';
import type { ApiContext } from './context.ts';
import type { Metrics } from './metrics.ts';

/** One log line and one measurement per request, when its answer is out or its client is gone. */
export function observe(
  request: FastifyRequest,
  reply: FastifyReply,
  metrics: Metrics,
  { clock, log }: ApiContext,
): void {
  const startedAt = clock.monotonic();
  reply.raw.once('close', () => {
    // Cut off in the middle: by a failure that came too late for an error answer, or by the client.
    const cutOff = !reply.raw.writableFinished && reply.raw.statusCode !== 101;
    const code = request.failure ?? (cutOff ? 'client_closed' : undefined);
    const facts = {
      method: request.method,
      route: request.routeOptions.url ?? 'unmatched',
      status: cutOff && code ? errorStatus[code] : reply.raw.statusCode,
      ms: Math.round(clock.monotonic() - startedAt),
    };
    metrics.observe(facts);
    log.info('request', {
      ...facts,
      request_id: request.id,
      ...(request.caller && { token_id: request.caller.tokenId }),
      ...(request.passedTo !== undefined && { passed_to: request.passedTo }),
      ...(code && { code }),
    });
  });
}
