import { randomUUID } from 'node:crypto';
import { createMcpHandler, isLegacyRequest } from '@modelcontextprotocol/server';
import type { McpServer } from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApiContext } from '../context.ts';
import { callerOf } from '../context.ts';
import { recordFailure } from '../errors/error-reply.ts';
import { clientGone } from '../http/client-gone.ts';
import { sendWebResponse, toWebRequest } from '../mcp/web.ts';
import { RunningCalls } from './running-calls.ts';
import type { Serving } from './tool.ts';

/** Makes what answers one request. */
export type McpServerMaker = (serving: Serving) => McpServer;

const sessionHeader = 'mcp-session-id';

/** As far as it matters here; what else a message may be is the SDK's to judge. */
const message = z.object({
  method: z.string(),
  id: z.union([z.string(), z.number()]).optional(),
  params: z.looseObject({}).optional(),
});
type Message = z.output<typeof message>;

const cancelled = z.object({ requestId: z.union([z.string(), z.number()]) });

/**
 * Serves MCP statelessly, in both of its revisions: each POST is answered by a server object of its own. The call that
 * it makes ends when its client hangs up, and, for clients of the 2025 revisions, when they say that it is cancelled.
 */
export class McpEndpoint {
  readonly #context: ApiContext;
  readonly #calls = new RunningCalls();

  constructor(context: ApiContext) {
    this.#context = context;
  }

  /** `make` is called once, unless the SDK refuses the request before. */
  async serve(request: FastifyRequest, reply: FastifyReply, make: McpServerMaker): Promise<void> {
    const sent = message.safeParse(request.body).data;
    const session = request.headers[sessionHeader];
    const webRequest = toWebRequest(request, clientGone(reply));
    const isLegacy = await isLegacyRequest(webRequest, request.body);
    if (isLegacy && sent?.method === 'notifications/cancelled' && typeof session === 'string') {
      await this.#cancel(request, session, sent);
    }
    if (isLegacy && sent?.method === 'initialize') reply.header(sessionHeader, randomUUID());

    using running = new DisposableStack();
    const handler = createMcpHandler(
      () => {
        const server = make(this.#serving(request));
        if (isLegacy && sent?.id !== undefined && typeof session === 'string') {
          const owner = { caller: callerOf(request), session };
          running.use(this.#calls.add(owner, sent.id, server));
        }
        return server;
      },
      {
        // Headers and signs of life go out while a tool works: clients and proxies give up on what is silent.
        responseMode: sent?.method === 'tools/call' ? 'sse' : 'auto',
        keepAliveMs: this.#context.limits.heartbeatMs,
        onerror: (error) => {
          this.#context.log.info('an MCP request failed', { request_id: request.id, err: error });
        },
      },
    );
    const response = await handler.fetch(webRequest, { parsedBody: request.body });
    await sendWebResponse(response, reply);
  }

  async endSession(request: FastifyRequest): Promise<void> {
    const session = request.headers[sessionHeader];
    if (typeof session === 'string') await this.#calls.end({ caller: callerOf(request), session });
  }

  #serving(request: FastifyRequest): Serving {
    const { engine, clock, log } = this.#context;
    return {
      engine,
      clock,
      caller: callerOf(request),
      recordFailure: (failure) => recordFailure(failure, request, log),
    };
  }

  async #cancel(request: FastifyRequest, session: string, { params }: Message): Promise<void> {
    const { data } = cancelled.safeParse(params);
    if (!data) return;
    await this.#calls.cancel({ caller: callerOf(request), session }, data.requestId);
  }
}
