import { z } from 'zod';
import type { Api, ApiContext } from '../context.ts';
import { callerOf } from '../context.ts';
import { clientGone } from '../http/client-gone.ts';
import { answer } from '../schemas/answer.ts';
import { errorResponses, jsonBodyErrors, workspaceErrors } from '../schemas/error.ts';
import { id, noQuery } from '../schemas/text.ts';
import {
  editBody,
  editResult,
  presentRead,
  readBody,
  readResult,
  writeBody,
  writeResult,
} from '../schemas/tools-files.ts';

const tags = ['tools'];
const params = z.strictObject({ id });
const fileErrors = [...jsonBodyErrors, ...workspaceErrors, 'permission_denied'] as const;

export function fileToolRoutes(api: Api, { engine: { tools } }: ApiContext): void {
  api.post(
    '/agent/workspaces/:id/read',
    {
      schema: {
        operationId: 'read',
        summary: 'Read lines of a text file, or list a directory',
        tags,
        params,
        querystring: noQuery,
        body: readBody,
        response: {
          200: answer('What was found; of a binary file only its size.', readResult),
          ...errorResponses(...fileErrors, 'file_not_found'),
        },
      },
    },
    async (request, reply) => {
      const { file_path: path, offset, limit } = request.body;
      const wanted = { path, offset, limit };
      const caller = callerOf(request);
      return presentRead(await tools.read(caller, request.params.id, wanted, clientGone(reply)));
    },
  );

  api.post(
    '/agent/workspaces/:id/write',
    {
      schema: {
        operationId: 'write',
        summary: 'Write a whole text file; the old one stays until the new one is whole',
        tags,
        params,
        querystring: noQuery,
        body: writeBody,
        response: {
          200: answer('What was written.', writeResult),
          ...errorResponses(...fileErrors, 'is_directory', 'disk_full'),
        },
      },
    },
    async (request, reply) => {
      const { file_path: path, content } = request.body;
      const caller = callerOf(request);
      const gone = clientGone(reply);
      const written = await tools.write(caller, request.params.id, { path, content }, gone);
      return { file_path: written.path, size: written.size, created: written.created };
    },
  );

  api.post(
    '/agent/workspaces/:id/edit',
    {
      schema: {
        operationId: 'edit',
        summary: 'Replace text in a file, byte for byte; all else stays as it is',
        tags,
        params,
        querystring: noQuery,
        body: editBody,
        response: {
          200: answer('What was replaced.', editResult),
          ...errorResponses(
            ...fileErrors,
            'file_not_found',
            'is_directory',
            'disk_full',
            'no_match',
            'multiple_matches',
            'file_changed',
          ),
        },
      },
    },
    async (request, reply) => {
      const { body } = request;
      const wanted = {
        path: body.file_path,
        oldString: body.old_string,
        newString: body.new_string,
        replaceAll: body.replace_all,
      };
      const caller = callerOf(request);
      const edited = await tools.edit(caller, request.params.id, wanted, clientGone(reply));
      return { file_path: edited.path, size: edited.size, replacements: edited.replacements };
    },
  );
}
