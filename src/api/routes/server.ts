import { z } from 'zod';
import type { Api } from '../context.ts';
import { callerOf } from '../context.ts';
import type { Metrics } from '../metrics.ts';
import { answer } from '../schemas/answer.ts';
import { errorResponses, publicErrorResponses } from '../schemas/error.ts';
import { noQuery } from '../schemas/text.ts';
import type { StoreProbe } from '../store-probe.ts';

const tags = ['server'];
const health = z.object({ status: z.literal('ok') }).meta({ id: 'Health' });

/** What belongs to the server and not to the versioned API; at the root. */
export function serverRoutes(api: Api, probe: StoreProbe, metrics: Metrics): void {
  api.get(
    '/healthz',
    {
      config: { public: true },
      schema: {
        operationId: 'health',
        summary: 'Tell whether the server can work; needs no token',
        tags,
        security: [],
        response: {
          200: answer('The store answers.', health),
          ...publicErrorResponses('malformed_request', 'store_unavailable', 'shutting_down'),
        },
      },
    },
    async () => {
      await probe.check();
      return { status: 'ok' as const };
    },
  );

  api.get(
    '/metrics',
    {
      schema: {
        operationId: 'metrics',
        summary: 'Measurements in the Prometheus text format',
        tags,
        querystring: noQuery,
        response: {
          200: {
            description: 'Counters, gauges and histograms.',
            content: { 'text/plain': { schema: z.string() } },
          },
          ...errorResponses(),
        },
      },
    },
    async (request, reply) => {
      const text = await metrics.text(callerOf(request));
      return reply.type(metrics.contentType).send(text);
    },
  );

  api.get(
    '/openapi.json',
    {
      schema: {
        operationId: 'openapi',
        summary: 'This document',
        tags,
        querystring: noQuery,
        response: {
          200: answer('An OpenAPI 3.1 document.', z.record(z.string(), z.unknown())),
          ...errorResponses(),
        },
      },
    },
    async () => ({ ...api.swagger() }),
  );
}
