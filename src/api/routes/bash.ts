import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { BashEvent } from '../../domain/bash.ts';
import type { Api, ApiContext } from '../context.ts';
import { callerOf } from '../context.ts';
import { errorBodyOf, recordFailure } from '../errors/error-reply.ts';
import { clientGone } from '../http/client-gone.ts';
import {
  bashBody,
  bashResult,
  bashStream,
  presentOutcome,
  toBashRequest,
} from '../schemas/bash.ts';
import { errorResponses, jsonBodyErrors, workspaceErrors } from '../schemas/error.ts';
import { id, noQuery } from '../schemas/text.ts';
import { accepts } from '../stream/accepts.ts';
import { EventStream } from '../stream/event-stream.ts';
import { Utf8Chunks } from '../stream/utf8-chunks.ts';

const tags = ['tools'];
const params = z.strictObject({ id });

export function bashRoutes(api: Api, context: ApiContext): void {
  const { tools } = context.engine;
  api.post(
    '/agent/workspaces/:id/bash',
    {
      schema: {
        operationId: 'bash',
        summary: 'Run a shell command; Accept: text/event-stream streams its output',
        tags,
        params,
        querystring: noQuery,
        body: bashBody,
        response: {
          200: {
            description: 'The command ran. A non-zero exit, a kill and a timeout are results too.',
            content: {
              'application/json': { schema: bashResult },
              'text/event-stream': { schema: bashStream },
            },
          },
          ...errorResponses(
            ...jsonBodyErrors,
            ...workspaceErrors,
            'file_not_found',
            'permission_denied',
            'no_shell',
          ),
        },
      },
    },
    async (request, reply) => {
      const wanted = toBashRequest(request.body);
      const caller = callerOf(request);
      const gone = clientGone(reply);
      if (accepts(request.headers.accept, 'text/event-stream')) {
        const events = await tools.bash(caller, request.params.id, wanted, gone);
        await streamEvents(events, request, reply, context);
        return reply;
      }
      const result = await tools.bashResult(caller, request.params.id, wanted, gone);
      return reply
        .type('application/json; charset=utf-8')
        .header('vary', 'Accept')
        .send({ stdout: result.stdout, stderr: result.stderr, ...presentOutcome(result) });
    },
  );
}

/**
 * Writes a command's events as they come. When the client goes away the events are still read to their end: the
 * engine is ending the command, and its grace between SIGTERM and SIGKILL lasts only while somebody reads.
 */
async function streamEvents(
  events: AsyncIterable<BashEvent>,
  request: FastifyRequest,
  reply: FastifyReply,
  { limits, clock, log }: ApiContext,
): Promise<void> {
  using stream = new EventStream(reply, limits, clock);
  const outputs = { stdout: new Utf8Chunks(), stderr: new Utf8Chunks() };
  const flush = async (): Promise<void> => {
    for (const name of ['stdout', 'stderr'] as const) {
      const rest = outputs[name].flush();
      if (rest) await stream.send(name, rest);
    }
  };
  try {
    for await (const event of events) {
      if (event.type === 'start') {
        await stream.send('start', { pid: event.pid, process_id: event.processId });
      } else if (event.type === 'result') {
        await flush();
        await stream.send('result', { ...presentOutcome(event.result), truncated: false });
      } else {
        const chunk = outputs[event.type].push(event.data);
        if (chunk) await stream.send(event.type, chunk);
      }
    }
  } catch (failure) {
    await flush();
    await stream.send('error', errorBodyOf(recordFailure(failure, request, log), request.id));
  }
}
