import { z } from 'zod';
import type { Api } from '../context.ts';
import type { McpGateway } from '../mcp/gateway.ts';
import { errorResponses, mcpErrors, mcpUseErrors } from '../schemas/error.ts';
import { mcpRef } from '../schemas/mcp-ref.ts';

const tags = ['mcp'];
const url = '/mcp/servers/:id/mcp';
const params = z.strictObject({ id: mcpRef });
const anything = z.any().describe('As the Model Context Protocol has it.');

const uses = [
  {
    method: 'POST',
    operationId: 'sendToMcpServer',
    summary: 'Send a message of the Model Context Protocol to an MCP server (Streamable HTTP)',
    body: anything,
  },
  {
    method: 'GET',
    operationId: 'listenToMcpServer',
    summary: 'Listen to what an MCP server tells a session (Streamable HTTP)',
  },
  {
    method: 'DELETE',
    operationId: 'endMcpSession',
    summary: 'End a session with an MCP server (Streamable HTTP)',
  },
] as const;

/** Belongs into a scope of its own: bodies go past the parsers, to be read here or passed on as they are. */
export function mcpGatewayRoutes(api: Api, gateway: McpGateway): void {
  api.removeAllContentTypeParsers();
  api.addContentTypeParser('*', (_request, _payload, done) => {
    done(null);
  });
  for (const { method, operationId, summary, ...rest } of uses) {
    api.route({
      method,
      url,
      schema: {
        operationId,
        summary,
        tags,
        params,
        ...('body' in rest && { body: rest.body, consumes: ['application/json'] }),
        response: {
          200: {
            description: 'One message, a stream of messages, or nothing.',
            content: {
              'application/json': { schema: anything },
              'text/event-stream': { schema: z.string() },
            },
          },
          202: z.undefined().describe('A message that has no answer was taken.'),
          ...errorResponses(
            ...mcpErrors,
            ...mcpUseErrors,
            'malformed_json',
            'body_too_large',
            'unsupported_media_type',
            'forbidden',
            'not_found',
            'limit_reached',
            'port_closed',
          ),
        },
      },
      handler: async (request, reply) => {
        await gateway.handle(request, reply, request.params.id);
        return reply;
      },
    });
  }
}
