import type { Api, ApiContext } from '../context.ts';
import { callerOf } from '../context.ts';
import { answer } from '../schemas/answer.ts';
import { errorResponses, jsonBodyErrors } from '../schemas/error.ts';
import { poolReport, presentPoolReport, resizePoolBody } from '../schemas/pool.ts';
import { noQuery } from '../schemas/text.ts';

const path = '/agent/workspaces/pool';
const tags = ['pool'];

export function poolRoutes(api: Api, { engine }: ApiContext): void {
  api.get(
    path,
    {
      schema: {
        operationId: 'getWarmPools',
        summary: 'Show the sandboxes that wait for the next create, and how often creates met one',
        tags,
        querystring: noQuery,
        response: { 200: answer('Every pool.', poolReport), ...errorResponses() },
      },
    },
    async () => presentPoolReport(await engine.pool.report()),
  );

  api.patch(
    path,
    {
      schema: {
        operationId: 'resizeWarmPool',
        summary: 'Change how many sandboxes wait, on all servers of the database',
        tags,
        querystring: noQuery,
        body: resizePoolBody,
        response: {
          200: answer('Every pool; the changed one reaches its size within a minute.', poolReport),
          ...errorResponses(...jsonBodyErrors, 'forbidden', 'pool_not_found'),
        },
      },
    },
    async (request) => {
      const { name, size } = request.body;
      return presentPoolReport(await engine.pool.resize(callerOf(request), name, size));
    },
  );
}
