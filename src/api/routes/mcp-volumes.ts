import { z } from 'zod';
import type { Api, ApiContext } from '../context.ts';
import { callerOf } from '../context.ts';
import { answer } from '../schemas/answer.ts';
import { errorResponses } from '../schemas/error.ts';
import { keptVolumesList, presentKeptVolumes } from '../schemas/mcp-volumes.ts';
import { id, noQuery } from '../schemas/text.ts';

const tags = ['mcp'];

/** What was kept of servers that were deleted. */
export function mcpVolumeRoutes(api: Api, { engine }: ApiContext): void {
  api.get(
    '/mcp/volumes',
    {
      schema: {
        operationId: 'listMcpVolumes',
        summary: 'List the files that were kept of deleted MCP servers',
        tags,
        querystring: noQuery,
        response: {
          200: answer("The caller's; an admin sees all.", keptVolumesList),
          ...errorResponses(),
        },
      },
    },
    async (request) => ({
      items: (await engine.mcp.keptVolumes(callerOf(request))).map(presentKeptVolumes),
    }),
  );

  api.delete(
    '/mcp/volumes/:id',
    {
      schema: {
        operationId: 'removeMcpVolumes',
        summary: 'Remove the files that were kept of a deleted MCP server',
        tags,
        params: z.strictObject({ id }),
        querystring: noQuery,
        response: {
          204: z.undefined().describe('Nothing of them is left.'),
          ...errorResponses(
            'bad_id',
            'invalid_value',
            'volumes_not_found',
            'forbidden',
            'wrong_state',
            'provider_unknown',
            'provider_failed',
            'provider_unavailable',
            'deadline_exceeded',
          ),
        },
      },
    },
    async (request, reply) => {
      await engine.mcp.removeKeptVolumes(callerOf(request), request.params.id);
      return reply.code(204).send();
    },
  );
}
