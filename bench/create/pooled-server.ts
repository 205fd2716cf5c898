import { systemClock as clock } from '../../src/base/clock.ts';
import { benchServer } from '../support/server.ts';
import type { BenchServer } from '../support/server.ts';
import { poolOf } from '../support/pool.ts';

const lookEveryMs = 50;
const drainMs = 60_000;

/** A server with a warm pool that is full; nothing of the pool is left when it is disposed of. */
export async function pooledServer(size: number): Promise<BenchServer> {
  await using starting = new AsyncDisposableStack();
  const server = starting.use(
    await benchServer({ WORKSPACE_DISK_MODE: 'loop', WORKSPACE_WARM_POOL_SIZE: String(size) }),
  );
  // A pool outlives its server: that is what it is for.
  starting.defer(() => drain(server, size));
  await poolOf(server, size);
  const running = starting.move();
  return { ...server, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

/** Full first: what is only being made is in no list. */
async function drain(server: BenchServer, size: number): Promise<void> {
  await poolOf(server, size);
  const response = await server.request('GET', '?status=warm&limit=200');
  const { items } = (await response.json()) as { items: readonly { id: string }[] };
  await server.request('PATCH', '/pool', { size: 0 });
  const end = clock.monotonic() + drainMs;
  for (const { id } of items) {
    while (await exists(server, id)) {
      if (clock.monotonic() > end) throw new Error(`${id} is left of the pool`);
      await clock.sleep(lookEveryMs);
    }
  }
}

async function exists(server: BenchServer, id: string): Promise<boolean> {
  const { status } = await fetch(`${server.url}/api/v1/agent/workspaces/${id}`, {
    headers: { authorization: `Bearer ${server.token}` },
  });
  return status !== 404;
}
