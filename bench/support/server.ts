import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { prepareHost } from '../../src/host/setup/prepare.ts';

/** A server of its own, as a process of its own; gone when disposed of. */
export interface BenchServer extends AsyncDisposable {
  readonly url: string;
  readonly token: string;
  readonly pid: number;
  /** Below /api/v1/agent/workspaces. */
  readonly request: (method: string, path: string, body?: unknown) => Promise<Response>;
}

const command = fileURLToPath(new URL('../../emergent', import.meta.url));

/** Without a warm pool unless the settings say otherwise: its refills would be measured with the rest. */
export async function benchServer(
  settings: Readonly<Record<string, string>> = {},
): Promise<BenchServer> {
  await using starting = new AsyncDisposableStack();
  await prepareHost({ forTests: false });
  const dataDir = await mkdtemp(join(tmpdir(), 'emergent-bench-'));
  starting.defer(() => rm(dataDir, { recursive: true, force: true }));
  const server = startServer(dataDir, settings);
  starting.defer(() => stop(server));
  const { url, admin_token: token } = await announced(server);

  const request: BenchServer['request'] = async (method, path, body) => {
    const response = await fetch(`${url}/api/v1/agent/workspaces${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
    return response;
  };
  const running = starting.move();
  const pid = server.pid ?? 0;
  return { url, token, pid, request, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

function startServer(dataDir: string, settings: Readonly<Record<string, string>>): ChildProcess {
  return spawn(command, ['serve', '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      EMERGENT_DATA_DIR: dataDir,
      EMERGENT_PORT: '0',
      EMERGENT_LOG_LEVEL: 'warn',
      EMERGENT_SKIP_SETUP: '1',
      WORKSPACE_WARM_POOL_SIZE: '0',
      WORKSPACE_MAX_CONCURRENT: '200',
      ...settings,
    },
  });
}

interface Announcement {
  readonly url: string;
  readonly admin_token: string;
}

async function announced(server: ChildProcess): Promise<Announcement> {
  if (!server.stdout) throw new Error('the server has no standard output');
  let document = '';
  for await (const line of createInterface(server.stdout)) {
    document += line;
    if (line === '}') return JSON.parse(document) as Announcement;
  }
  throw new Error('the server ended before it was ready');
}

async function stop(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null) return;
  const ended = once(server, 'exit');
  server.kill('SIGTERM');
  await ended;
}
