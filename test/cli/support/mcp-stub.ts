import type { ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { Cli } from './cli.ts';
import type { CliOptions, CliResult } from './cli.ts';
import { ScriptedServer, someId } from './scripted-server.ts';

export const memory = {
  ...{ id: someId, name: 'memory', owner: 'admin', image: 'node:24', provider: 'gvisor' },
  ...{ status: 'ready', command: 'npx', args: ['-y', 'a b'], workdir: null },
  ...{ stdio_bridge: true, port: null, path: null, restart_policy: 'always', network: 'nat' },
  ...{ volumes: ['/data'], resource_limits: { cpu: 0.5, memory: '512M', disk: '1G' } },
  ...{ max_in_flight: 8, shared: false, metadata: { team: 'green' } },
  created_at: '2026-01-02T03:04:05.000Z',
  health: {
    ...{ state: 'healthy', reason: null, crash_looping: false, next_start_at: null },
    last_heard_at: '2026-01-02T03:05:00.000Z',
  },
  ...{ uptime_seconds: 3700, restarts: 2 },
  last_exit: { exit_code: 1, signal: null, at: '2026-01-02T03:04:06.000Z' },
  introduction: {
    protocol_version: '2025-11-25',
    server_info: { name: 'memory-server', version: '1.0.0' },
    capabilities: { tools: {} },
    instructions: null,
  },
  ...{ in_flight: 1, clients: 3, stray_lines: 0, usage: null },
};

export const crashed = {
  ...{ ...memory, name: 'broken', id: '2f0c1f0c-0000-4000-8000-000000000002' },
  ...{ uptime_seconds: null, introduction: null, clients: 0 },
  health: {
    ...{ state: 'waiting', reason: 'it exited with code 1', crash_looping: true },
    ...{ next_start_at: '2026-01-02T03:06:00.000Z', last_heard_at: null },
  },
};

export const logLine = (number: number, line: string, stream = 'stderr') => ({
  ...{ number, stream, text: line },
  at: `2026-01-02T03:04:${String(number).padStart(2, '0')}.000Z`,
});

/** What is answered: JSON with status 200, or whatever the function writes. */
export type Answer = object | ((response: ServerResponse, body: unknown) => void);

/** Answers by method and path below /api/v1; the query is part of the path. */
export type Routes = Readonly<Record<string, Answer>>;

export interface Told extends CliResult {
  readonly requests: readonly string[];
  /** What was sent with POST, in order. */
  readonly bodies: readonly unknown[];
}

/** Runs `emergent mcp …` against a server that answers as scripted. */
export async function runMcp(
  routes: Routes,
  args: readonly string[],
  options: CliOptions = {},
): Promise<Told> {
  await using stub = await startStub(routes);
  const env = { ...stub.server.env, ...options.env };
  const result = await new Cli(['mcp', ...args], { ...options, env }).ended;
  return { ...result, requests: toldRequests(stub.server), bodies: stub.bodies };
}

export interface Stub extends AsyncDisposable {
  readonly server: ScriptedServer;
  readonly bodies: unknown[];
}

export async function startStub(routes: Routes): Promise<Stub> {
  const bodies: unknown[] = [];
  const server = await ScriptedServer.start((request, response) => {
    void text(request).then((sent) => {
      const body: unknown = sent === '' ? undefined : JSON.parse(sent);
      if (request.method === 'POST') bodies.push(body);
      const asked = `${request.method ?? ''} ${(request.url ?? '').replace('/api/v1', '')}`;
      const answer = routes[asked] ?? notFound;
      if (typeof answer === 'function') (answer as (...all: unknown[]) => void)(response, body);
      else response.end(JSON.stringify(answer));
    });
  });
  return { server, bodies, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

/** Without those that only follow the progress. */
function toldRequests({ requests }: ScriptedServer): string[] {
  return requests
    .map((one) => one.replace('/api/v1', ''))
    .filter((one) => !one.includes('/events'));
}

const notFound: Answer = (response) => {
  const error = {
    code: 'mcp_server_not_found',
    message: 'there is no such MCP server',
    hint: 'Check the id or the name with `emergent mcp list`.',
  };
  response.writeHead(404).end(JSON.stringify({ error }));
};

/** `tools/list` and `tools/call` as a hosted server answers them. */
export function rpc(answers: Readonly<Record<string, object>>): Answer {
  return (response: ServerResponse, body: unknown) => {
    const { method, params } = body as { method: string; params: { cursor?: string } };
    const page = params.cursor === undefined ? method : `${method} ${params.cursor}`;
    const result = answers[page] ?? { error: { code: -32601, message: 'Method not found' } };
    response.end(JSON.stringify('error' in result ? result : { result }));
  };
}
