import { z } from 'zod';
import type { Api, ApiContext } from '../context.ts';
import { callerOf } from '../context.ts';
import { clientGone } from '../http/client-gone.ts';
import { answer } from '../schemas/answer.ts';
import { errorResponses, jsonBodyErrors, workspaceErrors } from '../schemas/error.ts';
import {
  presentProcess,
  process,
  processList,
  processParams,
  signalBody,
  startProcessBody,
  toDetachedRequest,
} from '../schemas/process.ts';
import { id, noQuery } from '../schemas/text.ts';

const tags = ['processes'];
const params = z.strictObject({ id });
const url = '/agent/workspaces/:id/processes';

export function processRoutes(api: Api, { engine }: ApiContext): void {
  api.post(
    url,
    {
      schema: {
        operationId: 'startProcess',
        summary: 'Start a command and leave it running',
        tags,
        params,
        querystring: noQuery,
        body: startProcessBody,
        response: {
          201: answer('The process, running.', process),
          ...errorResponses(
            ...jsonBodyErrors,
            ...workspaceErrors,
            'unsupported',
            'file_not_found',
            'permission_denied',
            'no_shell',
          ),
        },
      },
    },
    async (request, reply) => {
      const wanted = toDetachedRequest(request.body);
      const gone = clientGone(reply);
      const caller = callerOf(request);
      const started = await engine.processes.start(caller, request.params.id, wanted, gone);
      return reply.code(201).send(presentProcess(started));
    },
  );

  api.get(
    url,
    {
      schema: {
        operationId: 'listProcesses',
        summary: 'List the commands of a workspace, those of bash included',
        tags,
        params,
        querystring: noQuery,
        response: {
          200: answer('All that run, and those that ended lately.', processList),
          ...errorResponses(...workspaceErrors, 'unsupported'),
        },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const all = await engine.processes.list(caller, request.params.id, clientGone(reply));
      return { items: all.map(presentProcess) };
    },
  );

  api.get(
    `${url}/:process_id`,
    {
      schema: {
        operationId: 'getProcess',
        summary: 'Get a process, running or ended',
        tags,
        params: processParams,
        querystring: noQuery,
        response: {
          200: answer('The process.', process),
          ...errorResponses(...workspaceErrors, 'unsupported', 'process_not_found'),
        },
      },
    },
    async (request, reply) => {
      const { id: workspaceId, process_id: processId } = request.params;
      const gone = clientGone(reply);
      return presentProcess(
        await engine.processes.get(callerOf(request), workspaceId, processId, gone),
      );
    },
  );

  api.post(
    `${url}/:process_id/signal`,
    {
      schema: {
        operationId: 'signalProcess',
        summary: 'Send a signal to a running command and everything it started',
        tags,
        params: processParams,
        querystring: noQuery,
        body: signalBody,
        response: {
          204: z.undefined().describe('The signal was sent.'),
          ...errorResponses(
            ...jsonBodyErrors,
            ...workspaceErrors,
            'unsupported',
            'process_not_found',
          ),
        },
      },
    },
    async (request, reply) => {
      const { id: workspaceId, process_id: processId } = request.params;
      const { signal } = request.body;
      const gone = clientGone(reply);
      await engine.processes.signal(callerOf(request), workspaceId, processId, signal, gone);
      return reply.code(204).send();
    },
  );
}
