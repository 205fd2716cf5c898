import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OutputEvent } from '../../domain/exec.ts';
import type { Api, ApiContext } from '../context.ts';
import { callerOf } from '../context.ts';
import { recordFailure } from '../errors/error-reply.ts';
import { errorResponses, workspaceErrors } from '../schemas/error.ts';
import { rawBytes } from '../schemas/file.ts';
import { outputQuery, outputStream, processParams } from '../schemas/process.ts';
import { resumeHeaders } from '../schemas/text.ts';
import { accepts } from '../stream/accepts.ts';
import { followingEnds, sendFrames } from '../stream/follow.ts';
import { outputBytes } from '../stream/output-bytes.ts';
import { outputFrames } from '../stream/output-frames.ts';

export function processOutputRoute(api: Api, context: ApiContext): void {
  const { processes } = context.engine;
  api.get(
    '/agent/workspaces/:id/processes/:process_id/output',
    {
      schema: {
        operationId: 'readOutput',
        summary: 'Read the output of a process from any place on, as often as one likes',
        tags: ['processes'],
        params: processParams,
        querystring: outputQuery,
        headers: resumeHeaders,
        response: {
          200: {
            description:
              'Both outputs as they came. Plain bytes begin at X-Output-Offset: what lies before it is no ' +
              'longer kept.',
            content: {
              'application/octet-stream': { schema: rawBytes },
              'text/event-stream': { schema: outputStream },
            },
          },
          ...errorResponses(
            ...workspaceErrors,
            'unsupported',
            'invalid_value',
            'process_not_found',
          ),
        },
      },
    },
    async (request, reply) => {
      const { id, process_id: processId } = request.params;
      const caller = callerOf(request);
      const ends = followingEnds(reply, context);
      const attach = (offset: number, follow: boolean): Promise<AsyncIterable<OutputEvent>> =>
        processes.attach(caller, id, processId, { offset, follow }, ends);

      if (accepts(request.headers.accept, 'text/event-stream')) {
        const offset = request.headers['last-event-id'] ?? request.query.offset;
        const events = await attach(offset, request.query.follow ?? true);
        await sendFrames(outputFrames(events), request, reply, context);
        return reply;
      }
      const { droppedBytes } = await processes.get(caller, id, processId, ends);
      const offset = Math.max(request.query.offset, droppedBytes);
      const follow = request.query.follow ?? false;
      const content = outputBytes(await attach(offset, follow), follow);
      return sendBytes(content, offset, request, reply, context);
    },
  );
}

function sendBytes(
  content: AsyncIterable<Uint8Array>,
  offset: number,
  request: FastifyRequest,
  reply: FastifyReply,
  { log }: ApiContext,
): FastifyReply {
  const stream = Readable.from(content, { objectMode: false });
  // Too late for an error answer: the transfer breaks off, and only the log can tell why.
  stream.once('error', (failure) => {
    if (reply.raw.headersSent) recordFailure(failure, request, log);
  });
  return reply
    .type('application/octet-stream')
    .header('vary', 'Accept')
    .header('x-output-offset', String(offset))
    .send(stream);
}
