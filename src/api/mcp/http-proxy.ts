import { request as httpRequest } from 'node:http';
import type { ClientRequest } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../base/clock.ts';
import { reasonOf } from '../../base/reason.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { McpHttpTarget } from '../../engine/mcp/operations.ts';
import { requestHeaders } from './proxy-headers.ts';
import { answerTo, relay } from './relay.ts';
import { callTimeoutMs } from './session-calls.ts';
import { TunnelAgent } from './tunnel-agent.ts';

/**
 * Passes requests on to servers that speak HTTP themselves, inside their sandboxes, and their answers back as they come.
 * Connections are kept for the next request, per server.
 */
export class HttpProxy implements Disposable {
  readonly #clock: Clock;
  readonly #agents = new Map<
    string,
    { readonly target: McpHttpTarget; readonly agent: TunnelAgent }
  >();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Fails before the answer has begun, or not at all: one that breaks off later breaks off for the client too. */
  async pass(
    serverId: string,
    target: McpHttpTarget,
    { request, reply, body, signal }: ProxiedRequest,
  ): Promise<void> {
    const agent = this.#agentFor(serverId, target);
    const wait = { what: 'the answer of the MCP server', ms: callTimeoutMs, signal };
    const answer = await answerTo(send(agent, target, request, body), wait).catch(
      (error: unknown) => {
        throw asFailure(error, signal);
      },
    );
    await relay(answer, { request, reply, until: signal, broken: 'mcp_failed' });
  }

  forget(serverId: string): void {
    this.#agents.get(serverId)?.agent.destroy();
    this.#agents.delete(serverId);
  }

  [Symbol.dispose](): void {
    for (const id of [...this.#agents.keys()]) this.forget(id);
  }

  /** A server that was started anew is another target: what is left of connections to the old one goes. */
  #agentFor(serverId: string, target: McpHttpTarget): TunnelAgent {
    const known = this.#agents.get(serverId);
    if (known?.target === target) return known.agent;
    this.forget(serverId);
    const agent = new TunnelAgent(target, this.#clock);
    this.#agents.set(serverId, { target, agent });
    return agent;
  }
}

export interface ProxiedRequest {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly body: Buffer;
  /** The client has gone: nobody waits for the answer. */
  readonly signal: AbortSignal;
}

function send(
  agent: TunnelAgent,
  { path, port }: McpHttpTarget,
  { method, headers, url }: FastifyRequest,
  body: Buffer,
): ClientRequest {
  const query = url.includes('?') ? url.slice(url.indexOf('?')) : '';
  const sent = httpRequest({
    agent,
    method,
    path: `${path}${query}`,
    headers: requestHeaders(headers, port, body),
  });
  sent.end(body);
  return sent;
}

function asFailure(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return error;
  if (!(error instanceof Error) || !('code' in error) || error instanceof EmergentError)
    return error;
  return new EmergentError('mcp_failed', `the MCP server did not answer: ${reasonOf(error)}`, {
    cause: error,
  });
}
