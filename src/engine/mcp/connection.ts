import type {
  JsonObject,
  JsonRpcNotification,
  JsonRpcOutcome,
  JsonRpcRequest,
} from '../../domain/json-rpc.ts';
import type { McpIntroduction } from '../../domain/mcp.ts';

/** Somebody who talks to a hosted server: a session of the gateway, one of its requests, or the server's own API. */
export interface McpClient {
  /** Unique among the clients of this process. */
  readonly id: string;
  /** What it said that it can do: `sampling`, `elicitation`, `roots` and so on. */
  readonly capabilities: JsonObject;
  /**
   * Asks it something on behalf of the program, while `call` runs; absent where its way of talking does not allow that.
   * `signal` aborts when the program takes the question back or the call ends.
   */
  readonly request?: (request: JsonRpcRequest, signal: AbortSignal) => Promise<JsonRpcOutcome>;
  /** What the program tells everybody: changed lists, updated resources, log messages. Never throws, never waits. */
  readonly notify?: (notification: JsonRpcNotification) => void;
}

export interface CallOptions {
  readonly client: McpClient;
  /** Aborting cancels the call: the program is told, and the call rejects with the reason. */
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** Each `notifications/progress` of this call, with the caller's own token; starts the timeout anew. */
  readonly onProgress?: (notification: JsonRpcNotification) => void;
}

/**
 * A program that has introduced itself, shared by all who call it. Ids and progress tokens are rewritten on the way,
 * so no two clients meet.
 */
export interface McpConnection {
  readonly introduction: McpIntroduction;
  /** Aborts when this program is no longer talked to: it has ended, or broke off. Another connection may follow. */
  readonly ended: AbortSignal;
  /**
   * Fails with `mcp_failed` when the program ends or breaks off, `deadline_exceeded` after the timeout (the program is
   * told that the call is cancelled), `message_too_large`, and with `signal`'s reason.
   */
  call(request: JsonRpcRequest, options: CallOptions): Promise<JsonRpcOutcome>;
  /** From a client, such as `notifications/roots/list_changed`. What a program must not be told by one is dropped. */
  notify(notification: JsonRpcNotification, client: McpClient): void;
  /** It hears what is told to everybody, until disposed; its subscriptions and its log level go with it. */
  attach(client: McpClient): Disposable;
}
