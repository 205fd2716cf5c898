import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { ClientCapabilities } from '@modelcontextprotocol/sdk/types.js';
import { textOf } from './mcp-hosting.ts';
import type { Reach } from './mcp-hosting.ts';

const about = { name: 'emergent-tests', version: '1.0.0' };

/** The official client of the first generation, as most of the field has it: revision 2025-11-25, with a session. */
export async function connect(
  { url, token }: Reach,
  id: string,
  capabilities: ClientCapabilities = {},
): Promise<Client & AsyncDisposable> {
  const client = new Client(about, { capabilities });
  const transport = new StreamableHTTPClientTransport(endpoint(url, id), withToken(token));
  await client.connect(transport);
  return Object.assign(client, {
    async [Symbol.asyncDispose]() {
      await transport.terminateSession();
      await client.close();
    },
  });
}

/** The official client of the second generation, in revision 2026-07-28, which knows no sessions. */
export async function connectModern(
  { url, token }: Reach,
  id: string,
): Promise<ModernClient & AsyncDisposable> {
  const client = new ModernClient(about, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  await client.connect(new ModernTransport(endpoint(url, id), withToken(token)));
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}

/** What a tool answers to a client of either generation. */
export async function toolText(
  client: Client | ModernClient,
  name: string,
  args: Record<string, unknown> = {},
): Promise<string> {
  return textOf(await client.callTool({ name, arguments: args }));
}

function endpoint(url: string, id: string): URL {
  return new URL(`${url}/api/v1/mcp/servers/${id}/mcp`);
}

function withToken(token: string): { requestInit: RequestInit } {
  return { requestInit: { headers: { authorization: `Bearer ${token}` } } };
}
