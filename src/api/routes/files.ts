import { Readable } from 'node:stream';
import { z } from 'zod';
import type { Api, ApiContext } from '../context.ts';
import { callerOf } from '../context.ts';
import { recordFailure } from '../errors/error-reply.ts';
import { readBody } from '../http/body-reader.ts';
import { clientGone } from '../http/client-gone.ts';
import { answer } from '../schemas/answer.ts';
import { errorResponses, workspaceErrors } from '../schemas/error.ts';
import { fileInfo, fileQuery, rawBytes } from '../schemas/file.ts';
import { id } from '../schemas/text.ts';
import { exactly } from '../stream/exact-length.ts';

const tags = ['tools'];
const params = z.strictObject({ id });
const url = '/agent/workspaces/:id/files';

/** Belongs into a scope of its own: here a body of any type goes past the parsers, to be streamed on. */
export function fileRoutes(api: Api, { engine, limits, clock, log }: ApiContext): void {
  api.removeAllContentTypeParsers();
  api.addContentTypeParser('*', (_request, _payload, done) => {
    done(null);
  });

  api.get(
    url,
    {
      schema: {
        operationId: 'readFile',
        summary: 'Read a file, byte for byte',
        tags,
        params,
        querystring: fileQuery,
        response: {
          200: {
            description: "The file's bytes.",
            content: { 'application/octet-stream': { schema: rawBytes } },
          },
          ...errorResponses(
            ...workspaceErrors,
            'invalid_value',
            'file_not_found',
            'is_directory',
            'permission_denied',
          ),
        },
      },
    },
    async (request, reply) => {
      const { path } = request.query;
      const caller = callerOf(request);
      const file = await engine.tools.readFile(caller, request.params.id, path, clientGone(reply));
      reply.type('application/octet-stream');
      if (file.size !== null) reply.header('content-length', String(file.size));
      const content = file.size === null ? file.content : exactly(file.size, file.content);
      const stream = Readable.from(content, { objectMode: false });
      // Too late for an error answer: the transfer breaks off, and only the log can tell why.
      stream.once('error', (failure) => {
        if (reply.raw.headersSent) recordFailure(failure, request, log);
      });
      return reply.send(stream);
    },
  );

  api.put(
    url,
    {
      schema: {
        operationId: 'writeFile',
        summary: 'Write a file, byte for byte; the old file stays until the new one is whole',
        tags,
        params,
        querystring: fileQuery,
        consumes: ['application/octet-stream'],
        body: rawBytes,
        response: {
          200: answer('What was written.', fileInfo),
          ...errorResponses(
            ...workspaceErrors,
            'invalid_value',
            'unsupported_media_type',
            'body_too_large',
            'is_directory',
            'permission_denied',
            'disk_full',
          ),
        },
      },
    },
    async (request, reply) => {
      const { path } = request.query;
      const bounds = { maxBytes: limits.fileBytes, stallMs: limits.stallMs };
      const content = readBody(request.raw, bounds, clock);
      const caller = callerOf(request);
      return engine.tools.writeFile(caller, request.params.id, path, content, clientGone(reply));
    },
  );
}
