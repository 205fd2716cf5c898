import { classifyInboundRequest } from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../domain/caller.ts';
import type { EmergentError } from '../../domain/errors.ts';
import { jsonRpcErrors } from '../../domain/json-rpc.ts';
import type { McpConnection } from '../../engine/mcp/connection.ts';
import type { McpTarget } from '../../engine/mcp/operations.ts';
import type { ApiContext } from '../context.ts';
import { callerOf } from '../context.ts';
import { clientGone } from '../http/client-gone.ts';
import type { McpCallCounts } from './call-counts.ts';
import { bodyOf, parsed } from './gateway-body.ts';
import { HostedServer } from './hosted-server.ts';
import { HttpProxy } from './http-proxy.ts';
import { Listening } from './listening.ts';
import { Modern } from './modern.ts';
import { ParkedCalls } from './parked-calls.ts';
import { isUnavailability, requestIdIn, rpcErrorOf, rpcErrorResponse } from './rpc-error.ts';
import { SessionDesk } from './session-desk.ts';
import { ToolCalls } from './tool-calls.ts';
import { sendWebResponse, toWebRequest } from './web.ts';

type HttpTarget = Extract<McpTarget, { kind: 'http' }>;

/** A hosted server that is spoken to through the bridge; without a connection where it cannot be had now. */
interface Stdio {
  readonly kind: 'stdio';
  readonly hosted: HostedServer;
  readonly connection?: McpConnection;
  readonly failure?: EmergentError;
}

/**
 * Streamable HTTP to every hosted server, in both revisions of the protocol. Servers that speak HTTP themselves are
 * passed through as they are; for the others the SDK speaks it, in front of the bridge.
 */
export class McpGateway implements Disposable {
  readonly #context: ApiContext;
  readonly #servers = new Map<string, HostedServer>();
  readonly #proxy: HttpProxy;
  readonly #parked: ParkedCalls;
  readonly #desk: SessionDesk;
  readonly #modern: Modern;
  readonly #listening: Listening;
  readonly #tools: ToolCalls;

  constructor(context: ApiContext, counts: McpCallCounts) {
    const { engine, clock, log, limits, closing } = context;
    const { heartbeatMs } = limits;
    this.#context = context;
    this.#tools = new ToolCalls(engine.mcp, counts, clock);
    this.#proxy = new HttpProxy(clock);
    this.#parked = new ParkedCalls(clock);
    this.#desk = new SessionDesk(context, this.#tools);
    this.#modern = new Modern({ tools: this.#tools, parked: this.#parked, heartbeatMs, log });
    this.#listening = new Listening(log, heartbeatMs);
    closing.addEventListener('abort', () => {
      this.#desk.stopListening();
      this.#listening[Symbol.dispose]();
    });
  }

  get sessionCount(): number {
    return this.#desk.count;
  }

  async handle(request: FastifyRequest, reply: FastifyReply, id: string): Promise<void> {
    const caller = callerOf(request);
    const signal = clientGone(reply);
    const found = await this.#find(caller, id, signal);
    const body = request.method === 'POST' ? await bodyOf(request, this.#context) : Buffer.alloc(0);
    if (found.kind === 'http') {
      await this.#passThrough(found, caller, { request, reply, body, signal });
      return;
    }
    const response = await this.#respond(found, caller, toWebRequest(request, signal), body);
    await sendWebResponse(response, reply);
  }

  /** The server was deleted: nothing of it is held. */
  forget(serverId: string): void {
    this.#servers.get(serverId)?.end();
    this.#servers.delete(serverId);
    this.#proxy.forget(serverId);
  }

  [Symbol.dispose](): void {
    this.#desk[Symbol.dispose]();
    this.#listening[Symbol.dispose]();
    this.#parked[Symbol.dispose]();
    this.#proxy[Symbol.dispose]();
  }

  async #find(caller: Caller, id: string, signal: AbortSignal): Promise<Stdio | HttpTarget> {
    const { mcp } = this.#context.engine;
    try {
      const target = await mcp.target(caller, id, signal);
      if (target.kind === 'http') return target;
      const hosted = this.#serverOf(target.id);
      hosted.use(target.connection);
      return { kind: 'stdio', hosted, connection: target.connection };
    } catch (failure) {
      if (!isUnavailability(failure)) throw failure;
      const { workspace, config } = await mcp.get(caller, id);
      if (config.transport.kind === 'http') throw failure;
      return { kind: 'stdio', hosted: this.#serverOf(workspace.id), failure };
    }
  }

  async #respond(
    { hosted, connection, failure }: Stdio,
    caller: Caller,
    request: Request,
    bytes: Buffer,
  ): Promise<Response> {
    const body = request.method === 'POST' ? parsed(bytes) : undefined;
    if (request.method === 'POST' && body === undefined) return notJson();
    const isModern = classify(request, body).kind !== 'legacy';
    const needsProgram = isModern || !request.headers.has('mcp-session-id');
    if (!connection && needsProgram && request.method === 'POST') {
      return rpcErrorResponse(200, rpcErrorOf(failure), requestIdIn(body));
    }
    if (!isModern || !connection) {
      return this.#desk.handle({ caller, hosted, request, body, failure });
    }
    const exchange = { caller, serverId: hosted.id, connection, body };
    return isListen(body)
      ? this.#listening.handle(request, exchange, hosted)
      : this.#modern.handle(request, exchange);
  }

  async #passThrough(
    { id, target }: HttpTarget,
    caller: Caller,
    proxied: Parameters<HttpProxy['pass']>[2],
  ): Promise<void> {
    const { signal, body, reply } = proxied;
    const request = requestIn(parsed(body));
    await this.#tools.noted({ caller, serverId: id, request, signal }, async () => {
      await this.#proxy.pass(id, target, proxied);
      return reply.raw.statusCode < 400 ? { result: {} } : { error: refused };
    });
  }

  #serverOf(id: string): HostedServer {
    const known = this.#servers.get(id);
    if (known) return known;
    const { engine, clock, log } = this.#context;
    const deserted = (): void => {
      if (this.#servers.get(id) === hosted) this.#servers.delete(id);
    };
    const hosted = new HostedServer(id, { mcp: engine.mcp, clock, log, deserted });
    this.#servers.set(id, hosted);
    return hosted;
  }
}

function classify({ method, headers }: Request, body: unknown) {
  const of = (name: string): string | undefined => headers.get(name) ?? undefined;
  const version = of('mcp-protocol-version');
  const mcpMethod = of('mcp-method');
  const name = of('mcp-name');
  return classifyInboundRequest({
    httpMethod: method,
    body,
    ...(version !== undefined && { protocolVersionHeader: version }),
    ...(mcpMethod !== undefined && { mcpMethodHeader: mcpMethod }),
    ...(name !== undefined && { mcpNameHeader: name }),
  });
}

function isListen(body: unknown): boolean {
  return requestIn(body).method === 'subscriptions/listen';
}

/** A message's method and params, empty where it has none. */
function requestIn(body: unknown) {
  const { method, params } = (body ?? {}) as { method?: unknown; params?: unknown };
  return {
    method: typeof method === 'string' ? method : '',
    params: (typeof params === 'object' ? params : undefined) ?? {},
  } as { method: string; params: Record<string, unknown> };
}

const refused = { code: -32_000, message: 'the server refused the request' };

function notJson(): Response {
  const error = { code: jsonRpcErrors.parse, message: 'the body is not JSON' };
  return rpcErrorResponse(400, error, null);
}
