import { CLIENT_CAPABILITIES_META_KEY, LOG_LEVEL_META_KEY } from '@modelcontextprotocol/server';
import { randomUUID } from 'node:crypto';
import type { Caller } from '../../domain/caller.ts';
import type { JsonObject, JsonRpcNotification } from '../../domain/json-rpc.ts';
import type { McpClient, McpConnection } from '../../engine/mcp/connection.ts';
import { isModern } from './modern-server.ts';
import type { Hearer } from './round-call.ts';

/** One request of a client of 2026-07-28. */
export interface Exchange {
  readonly caller: Caller;
  readonly serverId: string;
  readonly connection: McpConnection;
  /** As it came. */
  readonly body: unknown;
}

const levelMs = 10_000;

/** Such a client is known for the length of a request, by what the request says of it. */
export function requestClient(
  body: unknown,
  notify?: (notice: JsonRpcNotification) => void,
): McpClient {
  const capabilities = asObject(metaOf(body)[CLIENT_CAPABILITIES_META_KEY]);
  return { id: `request:${randomUUID()}`, capabilities, ...(notify && { notify }) };
}

/**
 * Where the request asks for log messages, those that the program writes meanwhile. A program of 2025 is told the level
 * first; one of 2026-07-28 finds it in the request.
 */
export async function listenToLogs(
  { connection, body }: Exchange,
  { signal, notify }: Hearer,
): Promise<Disposable & { readonly client: McpClient }> {
  const level = metaOf(body)[LOG_LEVEL_META_KEY];
  const isWanted = typeof level === 'string' && connection.introduction.capabilities['logging'];
  if (!isWanted) return { client: requestClient(body), [Symbol.dispose]: () => undefined };
  const client = requestClient(body, (notice) => {
    if (notice.method === 'notifications/message') notify(notice);
  });
  const attachment = connection.attach(client);
  try {
    if (!isModern(connection.introduction)) {
      const request = { method: 'logging/setLevel', params: { level } };
      await connection.call(request, { client, signal, timeoutMs: levelMs });
    }
  } catch (error) {
    attachment[Symbol.dispose]();
    throw error;
  }
  return {
    client,
    [Symbol.dispose]: () => {
      attachment[Symbol.dispose]();
    },
  };
}

function metaOf(body: unknown): JsonObject {
  return asObject(asObject(asObject(body)['params'])['_meta']);
}

function asObject(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null ? (value as JsonObject) : {};
}
