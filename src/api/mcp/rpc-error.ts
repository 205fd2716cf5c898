import { EmergentError } from '../../domain/errors.ts';
import type { JsonRpcError, JsonRpcId } from '../../domain/json-rpc.ts';
import { jsonRpcErrors } from '../../domain/json-rpc.ts';
import { toEmergentError } from '../errors/to-emergent-error.ts';

/** JSON-RPC leaves this range to servers; MCP clients show the message. */
const serverError = -32_000;

/** A failure of ours as the answer to a call: clients show the message, programs read the code in `data`. */
export function rpcErrorOf(failure: unknown): JsonRpcError {
  const { code, message, hint } = toEmergentError(failure);
  return {
    code: code === 'internal' ? jsonRpcErrors.internal : serverError,
    message,
    data: { code, hint },
  };
}

/** An answer outside of any session or stream. */
export function rpcErrorResponse(
  status: number,
  error: JsonRpcError,
  id: JsonRpcId | null,
): Response {
  return Response.json({ jsonrpc: '2.0', id, error }, { status });
}

/** The id of the one request that a body holds; null for anything else. */
export function requestIdIn(body: unknown): JsonRpcId | null {
  if (typeof body !== 'object' || body === null || !('method' in body) || !('id' in body)) {
    return null;
  }
  const { id } = body;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}

/** What is a matter of the program's present state, and no fault of the request. */
export function isUnavailability(failure: unknown): failure is EmergentError {
  return failure instanceof EmergentError && passing.has(failure.code);
}

const passing: ReadonlySet<string> = new Set([
  'mcp_unavailable',
  'mcp_failed',
  'sandbox_unreachable',
  'provider_unavailable',
  'deadline_exceeded',
]);
