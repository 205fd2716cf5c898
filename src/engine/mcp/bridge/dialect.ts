import type { JsonRpcRequest } from '../../../domain/json-rpc.ts';
import type { McpIntroduction } from '../../../domain/mcp.ts';
import { legacyMessage, modernMessage, modernRevision, ourselves } from './envelope.ts';
import type { Sender } from './envelope.ts';
import { discoverRequest } from './introduce.ts';

/** How the messages of a revision look to its programs. */
export interface Dialect {
  /** What changes is heard through `subscriptions/listen`, and levels go with each request. */
  readonly listens: boolean;
  readonly ping: JsonRpcRequest;
  message(request: JsonRpcRequest, sender: Sender, progressToken?: number): JsonRpcRequest;
}

const legacy: Dialect = {
  listens: false,
  ping: { method: 'ping' },
  message: (request, _, progressToken) => legacyMessage(request, progressToken),
};

const modern: Dialect = {
  listens: true,
  ping: discoverRequest,
  message: modernMessage,
};

export function dialectOf({ protocolVersion }: McpIntroduction): Dialect {
  return protocolVersion === modernRevision ? modern : legacy;
}

/** On our own account. */
export function ownMessage(dialect: Dialect, request: JsonRpcRequest): JsonRpcRequest {
  return dialect.message(request, ourselves);
}
