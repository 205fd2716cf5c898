import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client';
import type { ClientOptions as ModernOptions } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { ClientOptions } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const info = { name: 'a test', version: '1.0.0' };

export interface SessionClient extends AsyncDisposable {
  readonly client: Client;
  /** Resolves when its stream for what is told to everybody is open, which it opens by itself. */
  readonly listening: Promise<void>;
  readonly transport: StreamableHTTPClientTransport;
}

/** The client that most of the field has: 2025-11-25, with a session. */
export async function sessionClient(
  url: URL,
  options: ClientOptions & { token?: string; prepare?: (client: Client) => void } = {},
): Promise<SessionClient> {
  const { token = 'the-admin', prepare, ...others } = options;
  const client = new Client(info, others);
  prepare?.(client);
  const listening = Promise.withResolvers<void>();
  const transport = new StreamableHTTPClientTransport(url, {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
    fetch: async (to, init) => {
      const response = await fetch(to, init);
      if (init?.method === 'GET') listening.resolve();
      return response;
    },
  });
  await client.connect(transport);
  return {
    client,
    transport,
    listening: listening.promise,
    [Symbol.asyncDispose]: () => client.close(),
  };
}

export interface NewClient extends AsyncDisposable {
  readonly client: ModernClient;
  readonly transport: ModernTransport;
}

/** The client of the SDK's next version: it speaks 2026-07-28, or a session, as it is told. */
export async function newClient(
  url: URL,
  options: ModernOptions & { token?: string; prepare?: (client: ModernClient) => void } = {},
): Promise<NewClient> {
  const { token = 'the-admin', prepare, ...others } = options;
  const client = new ModernClient(info, { versionNegotiation: { mode: 'auto' }, ...others });
  prepare?.(client);
  const transport = new ModernTransport(url, {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  });
  await client.connect(transport);
  return { client, transport, [Symbol.asyncDispose]: () => client.close() };
}

export function textOf(result: unknown): string {
  const { content } = result as { content: readonly { text?: string }[] };
  return content.map(({ text }) => text).join('');
}
