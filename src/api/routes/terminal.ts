import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Terminal } from '../../engine/engine.ts';
import type { Api, ApiContext } from '../context.ts';
import { callerOf } from '../context.ts';
import { errorBodyOf, recordFailure } from '../errors/error-reply.ts';
import { clientGone } from '../http/client-gone.ts';
import { errorResponses, workspaceErrors } from '../schemas/error.ts';
import { terminalQuery } from '../schemas/terminal.ts';
import { id } from '../schemas/text.ts';
import { runSession } from '../terminal/session.ts';
import { requireHandshake, upgrade } from '../terminal/upgrade.ts';

const description = `A WebSocket. Without \`process_id\` it starts a command with a terminal, and with it comes back \
to one: a terminal goes on without its connection and without the server, until it ends by itself, by a signal or \
with its workspace. Several may be attached to one; the newest decides its size. Attached, it keeps the workspace in \
use.

The token is sent as \`Authorization: Bearer <token>\`; a browser, which cannot, offers the protocols \
\`emergent.terminal\` and \`bearer.<token>\`.

Binary messages are the terminal's bytes, both ways; a client's are at most 64 KB. Text messages are JSON. From the \
client: {"type":"resize","cols","rows"} and {"type":"signal","name"}. From the server: {"type":"ready","process_id",\
"pid","offset"} first; {"type":"skipped","bytes"} for output that is no longer kept; {"type":"exit","exit_code",\
"signal"} last; or {"type":"error","error"} (as in an Error). The place to come back to is \`offset\` of \`ready\` \
plus all bytes received and skipped.

Closed with 1000 after \`exit\`; 1008 or 1009 after a message that is refused; 1011 after \`error\`; 1012 when the \
server stops: come back. The server pings every 30 seconds and lets go of a client that does not answer.`;

export function terminalRoute(api: Api, context: ApiContext): void {
  const { terminals } = context.engine;
  api.get(
    '/agent/workspaces/:id/terminal',
    {
      config: { upgrades: true },
      schema: {
        operationId: 'openTerminal',
        summary: 'Open a terminal, or come back to one',
        description,
        tags: ['terminals'],
        params: z.strictObject({ id }),
        querystring: terminalQuery,
        response: {
          101: z.undefined().describe('The connection is a WebSocket now.'),
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
      requireHandshake(request);
      const left = new AbortController();
      const ends = AbortSignal.any([clientGone(reply), left.signal, context.closing]);
      const leave = (): void => {
        left.abort();
      };
      const terminal = await enter(request.query, request.params.id, request, ends);
      const socket = upgrade(request, reply);
      if (!socket) {
        leave();
        return reply;
      }
      await runSession(socket, terminal, {
        clock: context.clock,
        pingMs: context.limits.pingMs,
        closing: context.closing,
        describe: (failure) =>
          errorBodyOf(recordFailure(failure, request, context.log), request.id).error,
        leave,
      });
      return reply;
    },
  );

  function enter(
    { process_id: processId, offset, cols, rows, command }: z.output<typeof terminalQuery>,
    workspaceId: string,
    request: FastifyRequest,
    ends: AbortSignal,
  ): Promise<Terminal> {
    const caller = callerOf(request);
    const size = { cols, rows };
    if (processId !== undefined) {
      return terminals.attach(caller, workspaceId, processId, { offset: offset ?? 0, size }, ends);
    }
    const what = command === undefined ? { size } : { size, command };
    return terminals.open(caller, workspaceId, what, ends);
  }
}
