import { createMcpHandler } from '@modelcontextprotocol/server';
import type { JSONRPCRequest, Result, ServerContext } from '@modelcontextprotocol/server';
import type { Log } from '../../base/log.ts';
import type { JsonObject, JsonRpcRequest } from '../../domain/json-rpc.ts';
import { jsonRpcErrors } from '../../domain/json-rpc.ts';
import type { CallOptions } from '../../engine/mcp/connection.ts';
import { listenToLogs, requestClient } from './modern-client.ts';
import type { Exchange } from './modern-client.ts';
import { isModern, modernFailure, presentedBy, resultIn } from './modern-server.ts';
import type { ParkedCalls } from './parked-calls.ts';
import { RoundCall } from './round-call.ts';
import type { Hearer } from './round-call.ts';
import { callTimeoutMs } from './session-calls.ts';
import type { ToolCalls } from './tool-calls.ts';

export interface ModernParts {
  readonly tools: ToolCalls;
  readonly parked: ParkedCalls;
  readonly heartbeatMs: number;
  readonly log: Log;
}

/** Only their results may say that input is needed. */
const mayAsk: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

/**
 * Clients of 2026-07-28: each request stands by itself, and the SDK has a server for each. It checks the envelope and
 * the headers, answers `server/discover`, and finishes results as the revision wants them; everything else falls
 * through to the program.
 */
export class Modern {
  readonly #parts: ModernParts;

  constructor(parts: ModernParts) {
    this.#parts = parts;
  }

  handle(request: Request, exchange: Exchange): Promise<Response> {
    const { log, heartbeatMs } = this.#parts;
    const handler = createMcpHandler(() => this.#serverFor(exchange), {
      legacy: 'reject',
      // From the beginning, since a call may be silent for longer than proxies and clients wait for headers.
      responseMode: 'sse',
      keepAliveMs: heartbeatMs,
      onerror: (error) => {
        log.debug('mcp request', { err: error });
      },
    });
    return handler.fetch(request, { parsedBody: exchange.body });
  }

  #serverFor(exchange: Exchange) {
    const server = presentedBy(exchange.connection.introduction);
    server.fallbackRequestHandler = (_request, context) => this.#answer(exchange, context);
    server.fallbackNotificationHandler = async ({ method, params }) => {
      const client = requestClient(exchange.body);
      exchange.connection.notify({ method, ...(params && { params }) }, client);
    };
    return server;
  }

  /** From the message as it came: what the SDK hands to handlers is without what it has read itself. */
  async #answer(exchange: Exchange, { mcpReq }: ServerContext): Promise<Result> {
    const { method, params = {} } = exchange.body as JSONRPCRequest;
    const hearer: Hearer = {
      signal: mcpReq.signal,
      // It fails where the client is gone, which the signal tells.
      notify: (notice) => {
        mcpReq.notify(notice).catch(() => undefined);
      },
    };
    const answersAlike = isModern(exchange.connection.introduction) || !mayAsk.has(method);
    try {
      return answersAlike
        ? await this.#passOn(exchange, { method, params }, hearer)
        : await this.#inRounds(exchange, { method, params }, hearer);
    } catch (error) {
      throw modernFailure(error);
    }
  }

  /** The program itself says what is to be said, also that it needs input. */
  async #passOn(exchange: Exchange, request: JsonRpcRequest, hearer: Hearer): Promise<Result> {
    using logs = await listenToLogs(exchange, hearer);
    const outcome = await this.#call(exchange, request, {
      client: logs.client,
      signal: hearer.signal,
      timeoutMs: callTimeoutMs,
      onProgress: hearer.notify,
    });
    return resultIn(outcome);
  }

  async #inRounds(exchange: Exchange, request: JsonRpcRequest, hearer: Hearer): Promise<Result> {
    const { caller, serverId } = exchange;
    const { inputResponses, requestState, ...params } = request.params ?? {};
    const claim = { tokenId: caller.tokenId, serverId, method: request.method };
    using logs = await listenToLogs(exchange, hearer);
    const call =
      requestState === undefined
        ? new RoundCall(logs.client, (options) =>
            this.#call(exchange, { method: request.method, params }, options),
          )
        : this.#parts.parked.take(requestState, claim);
    if (!call) throw modernFailure(unknownState);
    if (requestState !== undefined) call.answer((inputResponses ?? {}) as JsonObject);
    const round = await call.round(hearer);
    if ('outcome' in round) return resultIn(round.outcome);
    return {
      resultType: 'input_required',
      inputRequests: round.questions,
      requestState: this.#parts.parked.park(call, claim),
    };
  }

  #call(exchange: Exchange, request: JsonRpcRequest, options: CallOptions) {
    const { caller, serverId, connection } = exchange;
    const passed = { caller, serverId, request, signal: options.signal };
    return this.#parts.tools.noted(passed, () => connection.call(request, options));
  }
}

const unknownState = {
  code: jsonRpcErrors.invalidParams,
  message: 'the requestState is unknown, or has expired: make the call anew',
};
