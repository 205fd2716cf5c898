import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

export const about = { name: 'emergent-tests', version: '1.0.0' };

/** What the tests use of a client; both generations have it. */
export type AnyClient = Client | ModernClient;

/** A connected client; disposing of it hangs up. */
export type Connected = AnyClient & AsyncDisposable;

/** Whose it is and where it goes: below /api/v1. */
export interface Reach {
  readonly url: string;
  readonly token: string | undefined;
}

/** The official clients: of the first generation with its sessions, and of the second, in either revision. */
export const generations = ['v1, 2025-11-25', 'v2, 2025-11-25', 'v2, 2026-07-28'] as const;
export type Generation = (typeof generations)[number];

export async function connectTo(
  generation: Generation,
  { url, token = '' }: Reach,
  path: string,
): Promise<Connected> {
  const address = new URL(`${url}/api/v1${path}`);
  const options = { requestInit: { headers: { authorization: `Bearer ${token}` } } };
  const client = await connected(generation, address, options);
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}

async function connected(
  generation: Generation,
  address: URL,
  options: { requestInit: RequestInit },
): Promise<AnyClient> {
  if (generation === 'v1, 2025-11-25') {
    const client = new Client(about);
    await client.connect(new StreamableHTTPClientTransport(address, options));
    return client;
  }
  const mode = generation === 'v2, 2026-07-28' ? { pin: '2026-07-28' } : 'legacy';
  const client = new ModernClient(about, { versionNegotiation: { mode } });
  await client.connect(new ModernTransport(address, options));
  return client;
}

export interface ToolAnswer {
  readonly text: string;
  readonly structured: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
  readonly meta: Readonly<Record<string, unknown>>;
}

export interface ToolOptions {
  readonly signal?: AbortSignal;
  readonly onprogress?: (progress: { progress: number; message?: string | undefined }) => void;
}

/** One call of a tool, as every client makes it. */
export async function useTool(
  client: AnyClient,
  name: string,
  args: Record<string, unknown> = {},
  options: ToolOptions = {},
): Promise<ToolAnswer> {
  const result = await (client instanceof Client
    ? client.callTool({ name, arguments: args }, undefined, options)
    : client.callTool({ name, arguments: args }, options));
  const content = result.content as readonly { type: string; text?: string }[];
  return {
    text: content.map(({ text }) => text ?? '').join('\n'),
    structured: (result.structuredContent ?? {}) as Record<string, unknown>,
    isError: result.isError === true,
    meta: result._meta ?? {},
  };
}
