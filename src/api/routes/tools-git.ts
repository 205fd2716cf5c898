import { z } from 'zod';
import type { Api, ApiContext } from '../context.ts';
import { callerOf } from '../context.ts';
import { clientGone } from '../http/client-gone.ts';
import { answer } from '../schemas/answer.ts';
import { errorResponses, jsonBodyErrors, workspaceErrors } from '../schemas/error.ts';
import { gitBody, gitResult, presentGit, toGitRequest } from '../schemas/git.ts';
import { id, noQuery } from '../schemas/text.ts';

export function gitRoutes(api: Api, { engine: { tools } }: ApiContext): void {
  api.post(
    '/agent/workspaces/:id/git',
    {
      schema: {
        operationId: 'git',
        summary: 'Work with a repository: status, diff, commit, checkout, pull or push',
        tags: ['tools'],
        params: z.strictObject({ id }),
        querystring: noQuery,
        body: gitBody,
        response: {
          200: answer('What git did.', gitResult),
          ...errorResponses(
            ...jsonBodyErrors,
            ...workspaceErrors,
            'git_failed',
            'permission_denied',
          ),
        },
      },
    },
    async (request, reply) => {
      const wanted = toGitRequest(request.body);
      const gone = clientGone(reply);
      return presentGit(await tools.git(callerOf(request), request.params.id, wanted, gone));
    },
  );
}
