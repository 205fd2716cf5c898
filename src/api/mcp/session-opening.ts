import { LATEST_PROTOCOL_VERSION, SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/server';
import type { JsonObject, JsonRpcOutcome } from '../../domain/json-rpc.ts';
import type { McpConnection } from '../../engine/mcp/connection.ts';
import { rpcErrorOf } from './rpc-error.ts';
import { notThere } from './session-calls.ts';
import type { SessionFacts } from './session-ids.ts';

/** The client's own where it is known here; otherwise the newest that sessions speak. */
export function negotiated(wanted: unknown): string {
  return typeof wanted === 'string' && SUPPORTED_PROTOCOL_VERSIONS.includes(wanted)
    ? wanted
    : LATEST_PROTOCOL_VERSION;
}

/** The program introduced itself long ago: what it said then is the answer. */
export function initializeResult(
  connection: McpConnection | undefined,
  protocolVersion: string,
): JsonRpcOutcome {
  if (!connection) return { error: rpcErrorOf(notThere()) };
  const { serverInfo, capabilities, instructions } = connection.introduction;
  return {
    result: {
      protocolVersion,
      capabilities,
      serverInfo,
      ...(instructions !== null && { instructions }),
    },
  };
}

/** The SDK's transport takes nothing before it has seen this. */
export function syntheticInitialize({ protocolVersion, capabilities }: SessionFacts): JsonObject {
  return {
    jsonrpc: '2.0',
    id: 'emergent-revival',
    method: 'initialize',
    params: { protocolVersion, capabilities, clientInfo: { name: 'revived', version: '0' } },
  };
}
