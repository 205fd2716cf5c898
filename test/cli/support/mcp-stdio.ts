import { join, resolve } from 'node:path';
import { Client as ModernClient } from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernStdioTransport } from '@modelcontextprotocol/client/stdio';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { about } from '../../api/support/mcp.ts';
import type { Connected, Generation } from '../../api/support/mcp.ts';

const root = resolve(import.meta.dirname, '../../..');

export interface StdioConnected {
  readonly client: Connected;
  /** What the command has written to standard error so far. */
  readonly stderr: () => string;
  readonly pid: number | null;
}

/** An official client that starts `emergent mcp stdio` as clients start their servers. */
export async function connectByStdio(
  generation: Generation,
  env: Readonly<Record<string, string>>,
  args: readonly string[] = [],
): Promise<StdioConnected & AsyncDisposable> {
  const parameters = {
    command: process.execPath,
    args: [join(root, 'src/cli/main.ts'), 'mcp', 'stdio', ...args],
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: '/nonexistent',
      NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compile'),
      ...env,
    },
    stderr: 'pipe' as const,
  };
  const { client, transport } = made(generation, parameters);
  const written: string[] = [];
  transport.stderr?.on('data', (chunk: Buffer) => written.push(chunk.toString()));
  await connect(client, transport);
  return {
    client: Object.assign(client, { [Symbol.asyncDispose]: () => client.close() }),
    stderr: () => written.join(''),
    pid: transport.pid,
    [Symbol.asyncDispose]: () => client.close(),
  };
}

type Parameters = ConstructorParameters<typeof StdioClientTransport>[0];

function made(generation: Generation, parameters: Parameters) {
  if (generation === 'v1, 2025-11-25') {
    return { client: new Client(about), transport: new StdioClientTransport(parameters) };
  }
  const mode = generation === 'v2, 2026-07-28' ? { pin: '2026-07-28' } : ('legacy' as const);
  return {
    client: new ModernClient(about, { versionNegotiation: { mode } }),
    transport: new ModernStdioTransport(parameters),
  };
}

async function connect(
  client: Client | ModernClient,
  transport: StdioClientTransport | ModernStdioTransport,
): Promise<void> {
  await (client as ModernClient).connect(transport);
}
