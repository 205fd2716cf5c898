import type { JsonObject, JsonRpcId, JsonRpcRequest } from '../../../domain/json-rpc.ts';
import packageJson from '../../../../package.json' with { type: 'json' };
import { isId, isObject } from './messages.ts';

/** Revisions with an `initialize`, newest first. */
export const legacyRevisions = [
  '2025-11-25',
  '2025-06-18',
  '2025-03-26',
  '2024-11-05',
  '2024-10-07',
] as const;

/** The revision in which every request says by itself who asks and what it can do. */
export const modernRevision = '2026-07-28';

export const metaKeys = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
} as const;

export const ourClientInfo = { name: 'emergent', version: packageJson.version } as const;

/** What we can pass on to a client, said to programs that are told once for all clients. */
export const ourCapabilities = {
  sampling: { tools: {}, context: {} },
  elicitation: { form: {}, url: {} },
  roots: { listChanged: true },
} as const;

export interface Sender {
  readonly capabilities: JsonObject;
  /** The least that it wants of the log messages of this call. */
  readonly logLevel: string | null;
}

/** For what we ask on our own account. */
export const ourselves: Sender = { capabilities: {}, logLevel: null };

/** The token that a caller wants to hear progress under. */
export function progressTokenOf({ params }: JsonRpcRequest): JsonRpcId | null {
  const meta = params?.['_meta'];
  const token = isObject(meta) ? meta['progressToken'] : undefined;
  return isId(token) ? token : null;
}

/** A caller's message as a program of the older revisions gets it: what the newer one has in `_meta` says nothing there. */
export function legacyMessage(request: JsonRpcRequest, progressToken?: number): JsonRpcRequest {
  const meta = request.params?.['_meta'];
  if (!isObject(meta)) return request;
  const kept = Object.entries(meta).filter(([key]) => !envelopeKeys.has(key));
  return withMeta(request, withToken(Object.fromEntries(kept), progressToken));
}

/** The same for the newer revision: with the envelope that it asks for in each message. */
export function modernMessage(
  request: JsonRpcRequest,
  sender: Sender,
  progressToken?: number,
): JsonRpcRequest {
  const given = request.params?.['_meta'];
  const meta = isObject(given) ? given : {};
  const info = meta[metaKeys.clientInfo];
  const level = meta[metaKeys.logLevel] ?? sender.logLevel;
  return withMeta(request, {
    ...withToken(meta, progressToken),
    [metaKeys.protocolVersion]: modernRevision,
    [metaKeys.clientInfo]: isObject(info) ? info : ourClientInfo,
    [metaKeys.clientCapabilities]: sender.capabilities,
    ...(level !== null && { [metaKeys.logLevel]: level }),
  });
}

const envelopeKeys: ReadonlySet<string> = new Set([
  metaKeys.protocolVersion,
  metaKeys.clientInfo,
  metaKeys.clientCapabilities,
  metaKeys.logLevel,
]);

/** A token of which nobody hears would only be noise to the program. */
function withToken(meta: JsonObject, progressToken: number | undefined): JsonObject {
  const { progressToken: _, ...others } = meta;
  return progressToken === undefined ? others : { ...others, progressToken };
}

function withMeta({ method, params }: JsonRpcRequest, meta: JsonObject): JsonRpcRequest {
  return { method, params: { ...params, _meta: meta } };
}
