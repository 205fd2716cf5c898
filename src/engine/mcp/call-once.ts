import { randomUUID } from 'node:crypto';
import type { JsonRpcOutcome, JsonRpcRequest } from '../../domain/json-rpc.ts';
import type { McpClient } from './connection.ts';
import { callOverHttp } from './http-call.ts';
import type { McpTarget } from './operations.ts';

export interface CallOnceOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** One call by nobody in particular: who can be asked nothing, and hears nothing but the answer. */
export async function callOnce(
  target: McpTarget,
  request: JsonRpcRequest,
  options: CallOnceOptions,
): Promise<JsonRpcOutcome> {
  if (target.kind === 'http') return callOverHttp(target.target, request, options);
  const client: McpClient = { id: `call-${randomUUID()}`, capabilities: {} };
  return target.connection.call(request, { client, ...options });
}
