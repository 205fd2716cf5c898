import type { Api, ApiContext } from '../context.ts';
import { callerOf } from '../context.ts';
import { answer } from '../schemas/answer.ts';
import { errorResponses, jsonBodyErrors } from '../schemas/error.ts';
import {
  presentReport,
  reconcileBody,
  reconcileReport,
  toReconcileOptions,
} from '../schemas/reconcile.ts';
import { noQuery } from '../schemas/text.ts';

export function upkeepRoutes(api: Api, { engine }: ApiContext): void {
  api.post(
    '/gc',
    {
      schema: {
        operationId: 'collectGarbage',
        summary: 'Compare what is recorded with what is there, now, and mend the differences',
        tags: ['upkeep'],
        querystring: noQuery,
        body: reconcileBody,
        response: {
          200: answer('What was done, or would be, and why.', reconcileReport),
          ...errorResponses(...jsonBodyErrors, 'forbidden', 'deadline_exceeded'),
        },
      },
    },
    async (request) => {
      const options = toReconcileOptions(request.body);
      return presentReport(await engine.upkeep.reconcile(callerOf(request), options));
    },
  );
}
