import { z } from 'zod';
import { DeadlineError } from '../../base/deadline.ts';
import type { Caller } from '../../domain/caller.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { WorkspaceUse } from '../../engine/engine.ts';
import type { Api, ApiContext } from '../context.ts';
import { callerOf } from '../context.ts';
import { clientGone } from '../http/client-gone.ts';
import type { McpGateway } from '../mcp/gateway.ts';
import { answer } from '../schemas/answer.ts';
import { errorResponses, imageErrors, jsonBodyErrors, mcpErrors } from '../schemas/error.ts';
import { mcpRef } from '../schemas/mcp-ref.ts';
import { registerMcpServerBody, toRegistration } from '../schemas/mcp-register.ts';
import { mcpServer, mcpServerList, presentMcpServer } from '../schemas/mcp-server.ts';
import {
  deletedMcpServer,
  deleteMcpServerQuery,
  presentKeptVolumes,
} from '../schemas/mcp-volumes.ts';
import { noQuery } from '../schemas/text.ts';

const tags = ['mcp'];
const params = z.strictObject({ id: mcpRef });

/** Registering, looking at and deleting hosted servers. */
export function mcpServerRoutes(api: Api, context: ApiContext, gateway: McpGateway): void {
  const { mcp, stats } = context.engine;

  /** What cannot be measured now is no reason not to show the rest. */
  const useOf = async (
    caller: Caller,
    id: string,
    signal: AbortSignal,
  ): Promise<WorkspaceUse | undefined> => {
    try {
      return await stats.get(caller, id, signal);
    } catch (error) {
      if (error instanceof DeadlineError) return undefined;
      if (error instanceof EmergentError && error.code !== 'internal') return undefined;
      throw error;
    }
  };

  api.post(
    '/mcp/servers',
    {
      schema: {
        operationId: 'registerMcpServer',
        summary: 'Register an MCP server and wait until its program has introduced itself',
        tags,
        querystring: noQuery,
        body: registerMcpServerBody,
        response: {
          201: answer('The server; `health` says how its program is.', mcpServer),
          ...errorResponses(
            ...jsonBodyErrors,
            ...imageErrors,
            'forbidden',
            'name_taken',
            'no_program',
            'provider_unknown',
            'unsupported',
            'interrupted',
            'provider_failed',
            'provider_unavailable',
            'sandbox_unreachable',
            'deadline_exceeded',
            'disk_full',
          ),
        },
      },
    },
    async (request, reply) => {
      const wanted = toRegistration(request.body);
      const registered = await mcp.register(callerOf(request), wanted, clientGone(reply));
      return reply.code(201).send(presentMcpServer(registered, context.clock.now()));
    },
  );

  api.get(
    '/mcp/servers',
    {
      schema: {
        operationId: 'listMcpServers',
        summary: 'List MCP servers, oldest first',
        tags,
        querystring: noQuery,
        response: {
          200: answer('Those that the caller may use.', mcpServerList),
          ...errorResponses(),
        },
      },
    },
    async (request) => {
      const now = context.clock.now();
      const servers = await mcp.list(callerOf(request));
      return { items: servers.map((server) => presentMcpServer(server, now)) };
    },
  );

  api.get(
    '/mcp/servers/:id',
    {
      schema: {
        operationId: 'getMcpServer',
        summary: 'Show an MCP server, how its program is and what it uses',
        tags,
        params,
        querystring: noQuery,
        response: {
          200: answer('The server.', mcpServer),
          ...errorResponses(...mcpErrors, 'interrupted'),
        },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const server = await mcp.get(caller, request.params.id);
      const use = await useOf(caller, server.workspace.id, clientGone(reply));
      return presentMcpServer(server, context.clock.now(), use);
    },
  );

  api.delete(
    '/mcp/servers/:id',
    {
      schema: {
        operationId: 'deleteMcpServer',
        summary: 'Delete an MCP server and, unless told otherwise, the files in its volumes',
        tags,
        params,
        querystring: deleteMcpServerQuery,
        response: {
          200: answer('It is gone; what was kept of it.', deletedMcpServer),
          ...errorResponses(
            ...mcpErrors,
            'invalid_value',
            'forbidden',
            'provider_unknown',
            'provider_failed',
            'provider_unavailable',
          ),
        },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const { id } = (await mcp.get(caller, request.params.id)).workspace;
      const options = { keepVolumes: request.query.keep_volumes };
      const kept = await mcp.delete(caller, id, options);
      gateway.forget(id);
      const volumes = kept ? presentKeptVolumes(kept) : null;
      return { id, status: 'destroyed' as const, kept_volumes: volumes };
    },
  );
}
