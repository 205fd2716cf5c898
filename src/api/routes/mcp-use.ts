import { z } from 'zod';
import type { McpLogLine } from '../../domain/mcp.ts';
import type { Api, ApiContext } from '../context.ts';
import { callerOf } from '../context.ts';
import { clientGone } from '../http/client-gone.ts';
import type { McpCallCounts } from '../mcp/call-counts.ts';
import { resultOf } from '../mcp/tool-calls.ts';
import { answer } from '../schemas/answer.ts';
import { errorResponses, jsonBodyErrors, mcpErrors, mcpUseErrors } from '../schemas/error.ts';
import { mcpCallAnswer, mcpCallBody, presentOutcome, toJsonRpc } from '../schemas/mcp-call.ts';
import { mcpLogLines, mcpLogsQuery, mcpLogStream, presentLogLine } from '../schemas/mcp-log.ts';
import { mcpRef } from '../schemas/mcp-ref.ts';
import { noQuery } from '../schemas/text.ts';
import { followingEnds, sendFrames } from '../stream/follow.ts';
import type { Frame } from '../stream/follow.ts';

const tags = ['mcp'];
const params = z.strictObject({ id: mcpRef });

/** One call without a client of MCP, and what a server has written. */
export function mcpUseRoutes(api: Api, context: ApiContext, counts: McpCallCounts): void {
  const { mcp } = context.engine;

  api.post(
    '/mcp/servers/:id/call',
    {
      schema: {
        operationId: 'callMcpServer',
        summary: 'Call a method of an MCP server once, such as tools/call',
        tags,
        params,
        querystring: noQuery,
        body: mcpCallBody,
        response: {
          200: answer('What it answered.', mcpCallAnswer),
          ...errorResponses(...jsonBodyErrors, ...mcpErrors, ...mcpUseErrors),
        },
      },
    },
    async (request, reply) => {
      const called = toJsonRpc(request.body);
      const options = { timeoutMs: request.body.timeout_ms, signal: clientGone(reply) };
      const outcome = await mcp.call(callerOf(request), request.params.id, called, options);
      if (called.method === 'tools/call') counts.count(resultOf(outcome));
      return presentOutcome(outcome);
    },
  );

  api.get(
    '/mcp/servers/:id/logs',
    {
      schema: {
        operationId: 'readMcpServerLogs',
        summary: 'Read what an MCP server wrote to its standard error, and what was noted about it',
        tags,
        params,
        querystring: mcpLogsQuery,
        response: {
          200: {
            description: 'The newest lines.',
            content: {
              'application/json': { schema: mcpLogLines },
              'text/event-stream': { schema: mcpLogStream },
            },
          },
          ...errorResponses(...mcpErrors, 'invalid_value'),
        },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const { tail, follow } = request.query;
      const { id } = request.params;
      if (follow) {
        // Asked first, so that what is wrong with the request is answered as an error and not as a stream.
        await mcp.get(caller, id);
        const lines = mcp.followLogs(caller, id, tail, followingEnds(reply, context));
        await sendFrames(logFrames(lines), request, reply, context);
        return reply;
      }
      const items = await mcp.logs(caller, id, tail);
      return reply
        .type('application/json; charset=utf-8')
        .send({ items: items.map(presentLogLine) });
    },
  );
}

async function* logFrames(lines: AsyncIterable<McpLogLine>): AsyncGenerator<Frame> {
  for await (const line of lines) {
    yield { event: 'line', data: presentLogLine(line), id: line.number };
  }
}
