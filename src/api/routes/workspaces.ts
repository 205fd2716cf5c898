import { z } from 'zod';
import type { Api, ApiContext } from '../context.ts';
import { callerOf } from '../context.ts';
import { clientGone } from '../http/client-gone.ts';
import { answer } from '../schemas/answer.ts';
import {
  createWorkspaceBody,
  createWorkspaceQuery,
  toCreateRequest,
} from '../schemas/create-workspace.ts';
import { errorResponses, imageErrors, jsonBodyErrors } from '../schemas/error.ts';
import { id, noQuery } from '../schemas/text.ts';
import {
  destroyedWorkspace,
  listWorkspacesQuery,
  presentPage,
  presentWorkspace,
  toWorkspaceQuery,
  workspace,
  workspacePage,
} from '../schemas/workspace.ts';

const tags = ['workspaces'];
const params = z.strictObject({ id });

export function workspaceRoutes(api: Api, { engine }: ApiContext): void {
  api.post(
    '/agent/workspaces',
    {
      schema: {
        operationId: 'createWorkspace',
        summary: 'Create a workspace and, unless told otherwise, wait until it is ready',
        tags,
        querystring: createWorkspaceQuery,
        body: createWorkspaceBody,
        response: {
          201: answer('The workspace, ready.', workspace),
          202: answer('The workspace, still being created.', workspace),
          ...errorResponses(
            ...jsonBodyErrors,
            'provider_unknown',
            ...imageErrors,
            'wrong_state',
            'limit_reached',
            'interrupted',
            'provider_failed',
            'provider_unavailable',
            'sandbox_unreachable',
            'deadline_exceeded',
            'disk_full',
            'git_failed',
          ),
        },
      },
    },
    async (request, reply) => {
      const { wait } = request.query;
      const wanted = toCreateRequest(request.body, wait);
      const created = await engine.workspaces.create(callerOf(request), wanted, clientGone(reply));
      return reply.code(wait ? 201 : 202).send(presentWorkspace(created));
    },
  );

  api.get(
    '/agent/workspaces',
    {
      schema: {
        operationId: 'listWorkspaces',
        summary: 'List workspaces, newest first',
        tags,
        querystring: listWorkspacesQuery,
        response: { 200: answer('One page.', workspacePage), ...errorResponses('invalid_value') },
      },
    },
    async (request) => {
      const query = toWorkspaceQuery(request.query);
      return presentPage(await engine.workspaces.list(callerOf(request), query));
    },
  );

  api.get(
    '/agent/workspaces/:id',
    {
      schema: {
        operationId: 'getWorkspace',
        summary: 'Get a workspace',
        tags,
        params,
        querystring: noQuery,
        response: {
          200: answer('The workspace.', workspace),
          ...errorResponses('bad_id', 'workspace_not_found'),
        },
      },
    },
    async (request) =>
      presentWorkspace(await engine.workspaces.get(callerOf(request), request.params.id)),
  );

  api.delete(
    '/agent/workspaces/:id',
    {
      schema: {
        operationId: 'destroyWorkspace',
        summary: 'Destroy a workspace and everything in it',
        tags,
        params,
        querystring: noQuery,
        response: {
          200: answer('Nothing of it is left.', destroyedWorkspace),
          ...errorResponses(
            'bad_id',
            'workspace_not_found',
            'provider_unknown',
            'provider_failed',
            'provider_unavailable',
            'sandbox_unreachable',
            'deadline_exceeded',
          ),
        },
      },
    },
    async (request) => {
      await engine.workspaces.destroy(callerOf(request), request.params.id);
      return { id: request.params.id, status: 'destroyed' as const };
    },
  );
}
