import type { Duplex } from 'node:stream';
import type { Caller } from '../../domain/caller.ts';
import type { JsonRpcOutcome, JsonRpcRequest } from '../../domain/json-rpc.ts';
import type { KeptVolumes, McpLogLine, McpServer, RegisterMcpServer } from '../../domain/mcp.ts';
import type { McpConnection } from './connection.ts';

/** Where a hosted server that speaks HTTP itself is found. */
export interface McpHttpTarget {
  readonly path: string;
  readonly port: number;
  /** A byte stream to its port. */
  dial(signal: AbortSignal): Promise<Duplex>;
}

/** What is noted of a `tools/call`. */
export interface McpCallNote {
  readonly tool: string;
  readonly durationMs: number;
  /** "ok", "error" where the tool said so, or the code of the error that the caller got. */
  readonly result: string;
}

/** What the gateway talks to. */
export type McpTarget =
  | { readonly kind: 'stdio'; readonly id: string; readonly connection: McpConnection }
  | { readonly kind: 'http'; readonly id: string; readonly target: McpHttpTarget };

/**
 * Hosted MCP servers. `id` is a server's id, or its name where the caller has, or may use, exactly one of that name.
 * Only admins register. Admins and the owner change a server; those it is shared with may look at it and use it.
 */
export interface McpOperations {
  /**
   * Answers when its program has introduced itself, or has failed to: then `health` says why, and its policy goes on. A
   * program that cannot be started at all is `no_program`, and nothing is left.
   */
  register(caller: Caller, request: RegisterMcpServer, signal: AbortSignal): Promise<McpServer>;
  get(caller: Caller, id: string): Promise<McpServer>;
  /** Oldest first. */
  list(caller: Caller): Promise<readonly McpServer[]>;
  /** Idempotent. What somebody stopped stays stopped, over restarts of ours too. */
  stop(caller: Caller, id: string): Promise<McpServer>;
  /** Idempotent; from every state. Its history of crashes begins anew. */
  start(caller: Caller, id: string, signal: AbortSignal): Promise<McpServer>;
  /** Its program ends and is started again, at once; its history of crashes begins anew. */
  restart(caller: Caller, id: string, signal: AbortSignal): Promise<McpServer>;
  delete(
    caller: Caller,
    id: string,
    options: { readonly keepVolumes: boolean },
  ): Promise<KeptVolumes | undefined>;
  /**
   * Where its program is talked to now. One that is starting is waited for within its own deadline; any other that
   * cannot be talked to is `mcp_unavailable` with the reason.
   */
  target(caller: Caller, id: string, signal: AbortSignal): Promise<McpTarget>;
  /** Leaves the event of a tool that was called through `target`; returns at once. */
  noteCall(caller: Caller, server: string, call: McpCallNote): void;
  /** One call, answered once; noted where it calls a tool. */
  call(
    caller: Caller,
    id: string,
    request: JsonRpcRequest,
    options: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<JsonRpcOutcome>;
  /** What it wrote to stderr and what was noted about it: the newest `limit` lines, oldest first. */
  logs(caller: Caller, id: string, limit: number): Promise<readonly McpLogLine[]>;
  /** The same, then each as it comes, until `signal` aborts or the server is deleted. */
  followLogs(
    caller: Caller,
    id: string,
    limit: number,
    signal: AbortSignal,
  ): AsyncIterable<McpLogLine>;
  /** What was kept of deleted servers: the caller's, or everybody's for an admin. */
  keptVolumes(caller: Caller): Promise<readonly KeptVolumes[]>;
  removeKeptVolumes(caller: Caller, id: string): Promise<void>;
}
