import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { systemClock } from '../../src/base/clock.ts';
import { withDeadline } from '../../src/base/deadline.ts';
import { freePort } from '../../test/support/free-port.ts';
import { connect } from '../../test/support/mcp-clients.ts';
import { McpProcess } from '../../test/support/mcp-process.ts';

const about = { name: 'bench', version: '1.0.0' };
const startMs = 20_000;

/** One MCP server, reached in the ways that are compared. */
export interface Ways extends AsyncDisposable {
  /** Spawned by the SDK on this host. */
  readonly direct: Client;
  /** Serving Streamable HTTP itself on this host: what that way of talking takes without anybody between. */
  readonly ownHttp: Client;
  /** Hosted on this host without any isolation. */
  readonly unsandboxed: Hosted;
  readonly runsc: Hosted;
}

export interface Hosted {
  /** One more client of it, through the gateway. */
  connect(): Promise<Client>;
}

export interface Program {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** What makes it serve HTTP instead, on this port. */
  readonly http: (port: number) => {
    readonly args: readonly string[];
    readonly env: Readonly<Record<string, string>>;
  };
  readonly tool: string;
  readonly toolArguments: Readonly<Record<string, unknown>>;
}

export interface BothServers extends AsyncDisposable {
  readonly open: McpProcess;
  readonly sandboxed: McpProcess;
}

export async function startBoth(): Promise<BothServers> {
  await using starting = new AsyncDisposableStack();
  const open = starting.use(await McpProcess.start({ EMERGENT_DEMO: '1' }));
  const sandboxed = starting.use(await McpProcess.start());
  const running = starting.move();
  return { open, sandboxed, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

/** The programs that are measured: a real one, and one that takes no time of its own. */
export function programs({ open: { images } }: BothServers): readonly Program[] {
  const everything = join(images.packages, '@modelcontextprotocol/server-everything/dist/index.js');
  return [
    {
      ...{ name: 'server-everything', command: process.execPath, args: [everything, 'stdio'] },
      http: (port) => ({ args: [everything, 'streamableHttp'], env: { PORT: String(port) } }),
      ...{ tool: 'echo', toolArguments: { message: 'hello' } },
    },
    {
      ...{ name: 'a tiny server in Go', command: images.rogueProgram, args: [] },
      http: (port) => ({ args: ['--http', String(port)], env: {} }),
      ...{ tool: 'echo', toolArguments: { text: 'hello' } },
    },
  ];
}

/** Resources are those that a server has by default, so that none is measured with more than people have. */
export async function waysTo({ open, sandboxed }: BothServers, program: Program): Promise<Ways> {
  const { name, command, args } = program;
  await using starting = new AsyncDisposableStack();
  const direct = new Client(about);
  await direct.connect(new StdioClientTransport({ command, args: [...args], stderr: 'ignore' }));
  starting.defer(() => direct.close());
  const ownHttp = await servingHttp(program, starting);
  const registered = name.replaceAll(' ', '-').toLowerCase();
  const onHost = await open.hosting.register({ name: registered, command, args });
  const inside = name.startsWith('server')
    ? { image: sandboxed.images.reference, command: 'mcp-server-everything', args: ['stdio'] }
    : { image: sandboxed.images.rogue };
  const onRunsc = await sandboxed.hosting.register({ name: registered, ...inside });
  const clients = starting.move();
  const hosted = (server: McpProcess, id: string): Hosted => ({
    async connect() {
      const client = await connect(server, id);
      clients.use(client);
      return client;
    },
  });
  return {
    direct,
    ownHttp,
    unsandboxed: hosted(open, onHost.id),
    runsc: hosted(sandboxed, onRunsc.id),
    async [Symbol.asyncDispose]() {
      await clients.disposeAsync();
      await open.hosting.delete(onHost.id);
      await sandboxed.hosting.delete(onRunsc.id);
    },
  };
}

async function servingHttp(
  { command, http }: Program,
  starting: AsyncDisposableStack,
): Promise<Client> {
  const port = await freePort();
  const { args, env } = http(port);
  const child = spawn(command, [...args], { env: { ...process.env, ...env }, stdio: 'ignore' });
  const ended = once(child, 'exit');
  starting.defer(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const url = new URL(`http://127.0.0.1:${String(port)}/mcp`);
  return withDeadline('a server that serves HTTP', startMs, async (signal) => {
    for (;;) {
      const client = new Client(about);
      try {
        await client.connect(new StreamableHTTPClientTransport(url));
        starting.defer(() => client.close());
        return client;
      } catch {
        // Nobody listens yet.
        await systemClock.sleep(50, signal);
      }
    }
  });
}
