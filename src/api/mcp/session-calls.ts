import type { Log } from '../../base/log.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { JsonRpcNotification, JsonRpcOutcome, JsonRpcRequest } from '../../domain/json-rpc.ts';
import type { McpClient, McpConnection } from '../../engine/mcp/connection.ts';
import { callInRounds } from './input-rounds.ts';
import { rpcErrorOf } from './rpc-error.ts';
import type { Session } from './session.ts';
import { cancelled } from './tool-calls.ts';
import type { ToolCalls } from './tool-calls.ts';

export interface SessionCallOptions {
  readonly client: McpClient;
  readonly signal: AbortSignal;
  readonly onProgress: (notice: JsonRpcNotification) => void;
}

/** Without an answer and without a word about progress. */
export const callTimeoutMs = 600_000;
const ownCallMs = 30_000;

/** Passes the calls of sessions on. Every failure is an outcome: it is answered on the stream of the call. */
export class SessionCalls {
  readonly #tools: ToolCalls;
  readonly #log: Log;

  constructor(tools: ToolCalls, log: Log) {
    this.#tools = tools;
    this.#log = log;
  }

  async call(
    session: Session,
    request: JsonRpcRequest,
    options: SessionCallOptions,
  ): Promise<JsonRpcOutcome> {
    const { caller, facts } = session;
    const call = { caller, serverId: facts.serverId, request, signal: options.signal };
    try {
      return await this.#tools.noted(call, () => this.#pass(session, request, options));
    } catch (error) {
      return { error: rpcErrorOf(error) };
    }
  }

  /** What a client wanted of an earlier program, said again to this one. */
  ownCall(connection: McpConnection, request: JsonRpcRequest, client: McpClient): void {
    const { ended: signal } = connection;
    connection.call(request, { client, signal, timeoutMs: ownCallMs }).catch((error: unknown) => {
      this.#log.debug('mcp client not as before', { method: request.method, err: error });
    });
  }

  cancelled(): EmergentError {
    return cancelled();
  }

  async #pass(
    session: Session,
    request: JsonRpcRequest,
    { client, signal, onProgress }: SessionCallOptions,
  ): Promise<JsonRpcOutcome> {
    const { connection } = session;
    if (!connection) throw session.failure ?? notThere();
    const options = { client, signal, onProgress, timeoutMs: callTimeoutMs };
    return callInRounds(
      (next) => connection.call(next, options),
      request,
      async (question) => (await client.request?.(question, signal)) ?? { error: nobody },
    );
  }
}

const nobody = { code: -32_000, message: 'the client cannot be asked' };

export function notThere(): EmergentError {
  return new EmergentError('mcp_unavailable', 'the server is not running now');
}
