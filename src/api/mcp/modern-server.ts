import { Server } from '@modelcontextprotocol/server';
import type { Result } from '@modelcontextprotocol/server';
import type { JsonRpcError, JsonRpcOutcome } from '../../domain/json-rpc.ts';
import type { McpIntroduction } from '../../domain/mcp.ts';
import { rpcErrorOf } from './rpc-error.ts';

/** Revisions are dates; this is the first in which every request stands by itself. */
const firstModern = '2026-07-28';

export function isModern({ protocolVersion }: McpIntroduction): boolean {
  return protocolVersion >= firstModern;
}

/**
 * A server of the SDK that says of itself what the program said. The one below `McpServer`: that one knows its tools
 * and checks what passes, and here they are another's.
 */
// eslint-disable-next-line @typescript-eslint/no-deprecated -- it is the one for what passes unchecked
export function presentedBy(introduction: McpIntroduction): Server {
  const { serverInfo, capabilities, instructions } = introduction;
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- as above
  return new Server(serverInfo, {
    capabilities: { ...capabilities },
    ...(instructions !== null && { instructions }),
  });
}

/** An error that the SDK answers with, as it is. */
class RpcFailure extends Error {
  override readonly name = 'RpcFailure';
  readonly code: number;
  readonly data: unknown;

  constructor({ code, message, data }: JsonRpcError) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export function modernFailure(failure: unknown): Error {
  if (failure instanceof RpcFailure) return failure;
  return new RpcFailure(isRpcError(failure) ? failure : rpcErrorOf(failure));
}

export function resultIn(outcome: JsonRpcOutcome): Result {
  if ('error' in outcome) throw new RpcFailure(outcome.error);
  return outcome.result;
}

function isRpcError(failure: unknown): failure is JsonRpcError {
  return (
    typeof failure === 'object' &&
    failure !== null &&
    !(failure instanceof Error) &&
    'code' in failure &&
    typeof failure.code === 'number'
  );
}
