/** JSON-RPC 2.0, as far as MCP has it. Params and results are passed on as they are. */
export type JsonRpcId = string | number;
export type JsonObject = Readonly<Record<string, unknown>>;

export interface JsonRpcRequest {
  readonly method: string;
  readonly params?: JsonObject;
}

export type JsonRpcNotification = JsonRpcRequest;

export interface JsonRpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** How a call ended: a program's refusal is a result, not an exception. */
export type JsonRpcOutcome = { readonly result: JsonObject } | { readonly error: JsonRpcError };

export const jsonRpcErrors = {
  parse: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
} as const;
