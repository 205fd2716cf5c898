import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ErrorCode } from '../../domain/errors.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { Api, ApiContext } from '../context.ts';
import { callerOf } from '../context.ts';
import { errorBodyOf } from '../errors/error-reply.ts';
import { McpEndpoint } from '../mcp-tools/endpoint.ts';
import { mcpServerOf, oneWorkspace, serverName, wholeServer } from '../mcp-tools/servers.ts';
import type { McpServerMaker } from '../mcp-tools/endpoint.ts';
import type { Offer } from '../mcp-tools/servers.ts';
import type { WorkspaceServing } from '../mcp-tools/tool.ts';
import { refuseForeignOrigin } from '../mcp/origin.ts';
import { answer } from '../schemas/answer.ts';
import { errorBody, errorResponses, jsonBodyErrors } from '../schemas/error.ts';
import { id, noQuery } from '../schemas/text.ts';
import { accepts } from '../stream/accepts.ts';

/** The SDK reads it, and answers what is wrong with it. */
const jsonRpc = z.unknown().describe('JSON-RPC, as MCP has it.');

const about = z
  .object({
    name: z.string(),
    version: z.string(),
    transport: z.literal('streamable-http'),
    instructions: z.string().describe('What models are told.'),
    tools: z.array(z.object({ name: z.string(), title: z.string(), description: z.string() })),
  })
  .meta({ id: 'McpEndpoint' });

/** A place where MCP is spoken. */
interface Place<Params extends z.ZodType> {
  readonly url: string;
  readonly tag: string;
  readonly summary: string;
  /** The ends of its operations' names. */
  readonly name: string;
  readonly params: Params;
  readonly errors: readonly ErrorCode[];
  readonly offer: Offer<WorkspaceServing>;
  /** What serves a request, once it is known that its caller may see what it is about. */
  readonly maker: (request: FastifyRequest, params: z.output<Params>) => Promise<McpServerMaker>;
}

/** Workspaces, and the whole server, as MCP servers: for models what the rest of the API is for programs. */
export function workspaceMcpRoutes(api: Api, context: ApiContext): void {
  const { engine, version } = context;
  const endpoint = new McpEndpoint(context);
  placeRoutes(api, context, endpoint, {
    url: '/mcp',
    tag: 'workspaces',
    summary: 'Talk MCP (Streamable HTTP): workspaces, and the tools for work in them',
    name: 'EmergentMcp',
    params: z.strictObject({}),
    errors: [],
    offer: wholeServer,
    maker: async () => (serving) => mcpServerOf(wholeServer, serving, version),
  });
  placeRoutes(api, context, endpoint, {
    url: '/agent/workspaces/:id/mcp',
    tag: 'tools',
    summary: 'Talk MCP (Streamable HTTP): the tools of one workspace',
    name: 'WorkspaceMcp',
    params: z.strictObject({ id }),
    errors: ['bad_id', 'workspace_not_found'],
    offer: oneWorkspace,
    async maker(request, { id: workspaceId }) {
      await engine.workspaces.get(callerOf(request), workspaceId);
      return (serving) => mcpServerOf(oneWorkspace, { ...serving, workspaceId }, version);
    },
  });
}

function placeRoutes<Params extends z.ZodType>(
  api: Api,
  { version }: ApiContext,
  endpoint: McpEndpoint,
  { url, tag, summary, name, params, errors, offer, maker }: Place<Params>,
): void {
  const common = { tags: [tag], params, querystring: noQuery };
  const refusals = [...errors, 'forbidden'] as const;
  const paramsOf = (request: FastifyRequest): z.output<Params> =>
    request.params as z.output<Params>;
  api.post(
    url,
    {
      onRequest: refusingForeignOrigin,
      schema: {
        ...common,
        operationId: `talk${name}`,
        summary,
        body: jsonRpc,
        response: {
          200: {
            description: 'The answer: at once, or as events with what is told on the way.',
            content: {
              'application/json': { schema: jsonRpc },
              'text/event-stream': { schema: z.string().describe('Events with JSON-RPC.') },
            },
          },
          202: z.undefined().describe('Nothing was asked.'),
          ...errorResponses(...jsonBodyErrors, ...refusals),
        },
      },
    },
    async (request, reply) => {
      await endpoint.serve(request, reply, await maker(request, paramsOf(request)));
      return reply;
    },
  );

  api.get(
    url,
    {
      onRequest: refusingForeignOrigin,
      schema: {
        ...common,
        operationId: `describe${name}`,
        summary: 'See what is offered there, without talking MCP',
        response: {
          200: answer('What is found here.', about),
          405: {
            description: 'unsupported',
            content: { 'application/json': { schema: errorBody } },
          },
          ...errorResponses(...refusals),
        },
      },
    },
    async (request, reply) => {
      await maker(request, paramsOf(request));
      if (accepts(request.headers.accept, 'text/event-stream')) return refuseStream(reply);
      const { instructions } = offer;
      const tools = offer.tools.map(({ facts }) => facts);
      const transport = 'streamable-http' as const;
      return reply.send({ name: serverName, version, transport, instructions, tools });
    },
  );

  api.delete(
    url,
    {
      onRequest: refusingForeignOrigin,
      schema: {
        ...common,
        operationId: `end${name}Session`,
        summary: 'End an MCP session, and the calls that it has now',
        response: {
          204: z.undefined().describe('Nothing of it runs any more.'),
          ...errorResponses(...refusals),
        },
      },
    },
    async (request, reply) => {
      await maker(request, paramsOf(request));
      await endpoint.endSession(request);
      return reply.code(204).send();
    },
  );
}

async function refusingForeignOrigin(request: FastifyRequest): Promise<void> {
  refuseForeignOrigin(request);
}

/** The status by which clients of the 2025 revisions know that there is no stream beside those of their calls. */
function refuseStream(reply: FastifyReply): FastifyReply {
  const error = new EmergentError('unsupported', 'there is no event stream here', {
    hint: 'What is told on the way comes in the answer of the call; send it as a POST.',
  });
  return reply
    .code(405)
    .header('allow', 'POST, DELETE')
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(errorBodyOf(error, reply.request.id)));
}
