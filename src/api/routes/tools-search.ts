import { z } from 'zod';
import type { Api, ApiContext } from '../context.ts';
import { callerOf } from '../context.ts';
import { clientGone } from '../http/client-gone.ts';
import { answer } from '../schemas/answer.ts';
import { errorResponses, jsonBodyErrors, workspaceErrors } from '../schemas/error.ts';
import {
  globBody,
  globResult,
  grepBody,
  grepResult,
  presentGlob,
  presentGrep,
  toGlobRequest,
  toGrepRequest,
} from '../schemas/search.ts';
import { id, noQuery } from '../schemas/text.ts';

const tags = ['tools'];
const params = z.strictObject({ id });
const errors = errorResponses(
  ...jsonBodyErrors,
  ...workspaceErrors,
  'unsupported',
  'file_not_found',
  'permission_denied',
);

export function searchRoutes(api: Api, { engine: { tools } }: ApiContext): void {
  api.post(
    '/agent/workspaces/:id/glob',
    {
      schema: {
        operationId: 'glob',
        summary: 'Find files by a pattern on their paths, newest first',
        tags,
        params,
        querystring: noQuery,
        body: globBody,
        response: { 200: answer('What was found.', globResult), ...errors },
      },
    },
    async (request, reply) => {
      const wanted = toGlobRequest(request.body);
      const gone = clientGone(reply);
      return presentGlob(await tools.glob(callerOf(request), request.params.id, wanted, gone));
    },
  );

  api.post(
    '/agent/workspaces/:id/grep',
    {
      schema: {
        operationId: 'grep',
        summary: 'Find lines by a regular expression',
        tags,
        params,
        querystring: noQuery,
        body: grepBody,
        response: { 200: answer('What was found.', grepResult), ...errors },
      },
    },
    async (request, reply) => {
      const wanted = toGrepRequest(request.body);
      const gone = clientGone(reply);
      return presentGrep(await tools.grep(callerOf(request), request.params.id, wanted, gone));
    },
  );
}
