import { z } from 'zod';
import type { Caller } from '../../domain/caller.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import type { McpServer } from '../../domain/mcp.ts';
import type { Api, ApiContext } from '../context.ts';
import { callerOf } from '../context.ts';
import { clientGone } from '../http/client-gone.ts';
import { answer } from '../schemas/answer.ts';
import { errorResponses, imageErrors, jsonBodyErrors, mcpErrors } from '../schemas/error.ts';
import { mcpRef } from '../schemas/mcp-ref.ts';
import { mcpServer, presentMcpServer } from '../schemas/mcp-server.ts';
import { noBody, noQuery } from '../schemas/text.ts';

const tags = ['mcp'];
const params = z.strictObject({ id: mcpRef });

interface Change {
  readonly name: string;
  readonly operationId: string;
  readonly summary: string;
  readonly errors: readonly ErrorCode[];
  readonly make: (caller: Caller, id: string, signal: AbortSignal) => Promise<McpServer>;
}

/** What may go wrong where a sandbox has to be made or started first. */
const startErrors: readonly ErrorCode[] = [
  ...imageErrors,
  'no_program',
  'interrupted',
  'files_lost',
  'disk_full',
];

/** Each answers when the change is made; of a start, when its program has introduced itself or failed to. */
export function mcpChangeRoutes(api: Api, { engine, clock }: ApiContext): void {
  const { mcp } = engine;
  const changes: readonly Change[] = [
    {
      name: 'stop',
      operationId: 'stopMcpServer',
      summary: 'Stop an MCP server; it stays stopped until somebody starts it',
      errors: [],
      make: (caller, id) => mcp.stop(caller, id),
    },
    {
      name: 'start',
      operationId: 'startMcpServer',
      summary: 'Start an MCP server; its history of crashes begins anew',
      errors: startErrors,
      make: (caller, id, signal) => mcp.start(caller, id, signal),
    },
    {
      name: 'restart',
      operationId: 'restartMcpServer',
      summary: 'End the program of an MCP server and start it again, at once',
      errors: startErrors,
      make: (caller, id, signal) => mcp.restart(caller, id, signal),
    },
  ];
  for (const { name, operationId, summary, errors, make } of changes) {
    api.post(
      `/mcp/servers/:id/${name}`,
      {
        schema: {
          operationId,
          summary,
          tags,
          params,
          querystring: noQuery,
          body: noBody,
          response: {
            200: answer('The server.', mcpServer),
            ...errorResponses(
              ...jsonBodyErrors,
              ...mcpErrors,
              'forbidden',
              'wrong_state',
              'provider_unknown',
              'provider_failed',
              'provider_unavailable',
              ...errors,
            ),
          },
        },
      },
      async (request, reply) => {
        const changed = await make(callerOf(request), request.params.id, clientGone(reply));
        return presentMcpServer(changed, clock.now());
      },
    );
  }
}
