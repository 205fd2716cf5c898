import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/config.ts';
import { prepareHost } from '../../src/host/setup/prepare.ts';
import { serve } from '../../src/main.ts';

/** A server of its own on a free port, with one workspace in it; all gone when disposed of. */
export interface BenchWorkspace extends AsyncDisposable {
  readonly id: string;
  /** The container's name on the engine. */
  readonly container: string;
  readonly url: string;
  readonly token: string;
  request(
    method: string,
    path: string,
    body?: string | Uint8Array<ArrayBuffer>,
    type?: string,
  ): Promise<Response>;
}

export async function benchWorkspace(): Promise<BenchWorkspace> {
  await using starting = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), 'emergent-bench-'));
  starting.defer(() => rm(dataDir, { recursive: true, force: true }));
  const env = {
    ...process.env,
    EMERGENT_DATA_DIR: dataDir,
    EMERGENT_PORT: '0',
    EMERGENT_LOG_LEVEL: 'warn',
  };
  const host = await prepareHost({ forTests: false });
  const server = starting.use(await serve(loadConfig(env), host));

  const request: BenchWorkspace['request'] = async (
    method,
    path,
    body,
    type = 'application/json',
  ) => {
    const response = await fetch(`${server.url}/api/v1/agent/workspaces${path}`, {
      method,
      headers: { authorization: `Bearer ${server.adminToken.value}`, 'content-type': type },
      ...(body !== undefined && { body }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
    return response;
  };
  const created = (await (await request('POST', '', '{}')).json()) as { id: string };
  starting.defer(async () => {
    await request('DELETE', `/${created.id}`);
  });
  const running = starting.move();
  return {
    id: created.id,
    container: `emergent-${created.id}`,
    url: `${server.url}/api/v1/agent/workspaces/${created.id}`,
    token: server.adminToken.value,
    request,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
