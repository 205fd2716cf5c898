import { z } from 'zod';
import type { Caller } from '../../domain/caller.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import type { Workspace } from '../../domain/workspace.ts';
import type { Api, ApiContext } from '../context.ts';
import { callerOf } from '../context.ts';
import { answer } from '../schemas/answer.ts';
import { changeErrors, errorResponses, imageErrors, jsonBodyErrors } from '../schemas/error.ts';
import { id, noBody, noQuery } from '../schemas/text.ts';
import { presentWorkspace, workspace } from '../schemas/workspace.ts';

const tags = ['workspaces'];
const params = z.strictObject({ id });

interface Change {
  readonly name: string;
  readonly operationId: string;
  readonly summary: string;
  readonly result: string;
  readonly errors: readonly ErrorCode[];
  readonly make: (caller: Caller, id: string) => Promise<Workspace>;
}

/** Each answers when the change is done, also for a caller that came while another had begun it. */
export function lifecycleRoutes(api: Api, { engine }: ApiContext): void {
  const { workspaces } = engine;
  const changes: readonly Change[] = [
    {
      name: 'stop',
      operationId: 'stopWorkspace',
      summary: 'Stop a workspace: its files stay, its commands end',
      result: 'The workspace, stopped.',
      errors: [],
      make: (caller, of) => workspaces.stop(caller, of),
    },
    {
      name: 'resume',
      operationId: 'resumeWorkspace',
      summary: 'Start a stopped workspace again, on the files that it had',
      result: 'The workspace, ready.',
      errors: ['limit_reached', 'files_lost', ...imageErrors, 'disk_full'],
      make: (caller, of) => workspaces.resume(caller, of),
    },
    {
      name: 'recover',
      operationId: 'recoverWorkspace',
      summary: 'Try to bring a workspace in state error back',
      result: 'The workspace, ready.',
      errors: ['limit_reached', 'files_lost', ...imageErrors, 'disk_full'],
      make: (caller, of) => workspaces.recover(caller, of),
    },
  ];
  for (const { name, operationId, summary, result, errors, make } of changes) {
    api.post(
      `/agent/workspaces/:id/${name}`,
      {
        schema: {
          operationId,
          summary,
          tags,
          params,
          querystring: noQuery,
          body: noBody,
          response: {
            200: answer(result, workspace),
            ...errorResponses(...jsonBodyErrors, ...changeErrors, ...errors),
          },
        },
      },
      async (request) => presentWorkspace(await make(callerOf(request), request.params.id)),
    );
  }
}
