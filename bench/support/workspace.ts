import { benchServer } from './server.ts';
import type { BenchServer } from './server.ts';

/** A server of its own with one workspace in it; all gone when disposed of. */
export interface BenchWorkspace extends BenchServer {
  readonly id: string;
  /** The container's name on the engine. */
  readonly container: string;
  /** Of the workspace. */
  readonly url: string;
}

export async function benchWorkspace(): Promise<BenchWorkspace> {
  await using starting = new AsyncDisposableStack();
  const { url, token, pid, request } = starting.use(await benchServer());
  const created = (await (await request('POST', '')).json()) as { id: string };
  starting.defer(async () => {
    await request('DELETE', `/${created.id}`);
  });
  const running = starting.move();
  return {
    id: created.id,
    container: `emergent-${created.id}`,
    url: `${url}/api/v1/agent/workspaces/${created.id}`,
    token,
    pid,
    request,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
