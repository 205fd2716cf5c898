import { z } from 'zod';
import type { Api, ApiContext } from '../context.ts';
import { callerOf } from '../context.ts';
import { clientGone } from '../http/client-gone.ts';
import { answer } from '../schemas/answer.ts';
import { errorResponses, workspaceErrors } from '../schemas/error.ts';
import {
  presentStats,
  presentStatsList,
  workspaceStats,
  workspaceStatsList,
} from '../schemas/stats.ts';
import { id, noQuery } from '../schemas/text.ts';

const tags = ['workspaces'];

export function statsRoutes(api: Api, { engine }: ApiContext): void {
  api.get(
    '/agent/workspaces/stats',
    {
      schema: {
        operationId: 'listWorkspaceStats',
        summary: 'Show what all workspaces that are ready or stopped use; looking is not a use',
        tags,
        querystring: noQuery,
        response: {
          200: answer('Those that the caller may see.', workspaceStatsList),
          ...errorResponses(),
        },
      },
    },
    async (request, reply) =>
      presentStatsList(await engine.stats.list(callerOf(request), clientGone(reply))),
  );

  api.get(
    '/agent/workspaces/:id/stats',
    {
      schema: {
        operationId: 'getWorkspaceStats',
        summary: 'Show what a workspace uses, beside its limits; looking is not a use',
        tags,
        params: z.strictObject({ id }),
        querystring: noQuery,
        response: {
          200: answer('CPU, memory, disk and processes.', workspaceStats),
          ...errorResponses(
            ...workspaceErrors,
            'unsupported',
            'provider_unknown',
            'provider_unavailable',
          ),
        },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      return presentStats(await engine.stats.get(caller, request.params.id, clientGone(reply)));
    },
  );
}
