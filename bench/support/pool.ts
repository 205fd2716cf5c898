import { systemClock as clock } from '../../src/base/clock.ts';
import type { BenchServer } from './server.ts';

/** What `GET /pool` says of a pool, as far as benchmarks look at it. */
interface PoolState {
  readonly name: string;
  readonly size: number;
  readonly ready: number;
  readonly creating: number;
  readonly reason: string | null;
}

interface PoolAnswer {
  readonly pools: readonly PoolState[];
  readonly hits: Readonly<Record<string, number>>;
}

const lookEveryMs = 20;
const fillMs = 120_000;

/** Waits until `count` sandboxes of the default pool can be handed out and none is being made. */
export async function poolOf(server: BenchServer, count: number): Promise<void> {
  const end = clock.monotonic() + fillMs;
  for (;;) {
    const { ready, creating, reason } = await defaultPool(server);
    if (ready === count && creating === 0) return;
    if (clock.monotonic() > end) {
      const found = `${String(ready)} ready, ${String(creating)} being made`;
      throw new Error(`the pool was not filled: ${found} (${reason ?? 'no reason given'})`);
    }
    await clock.sleep(lookEveryMs);
  }
}

/** How many creates have got a sandbox that was waiting. */
export async function poolHits(server: BenchServer): Promise<number> {
  return (await ask(server)).hits['default'] ?? 0;
}

async function defaultPool(server: BenchServer): Promise<PoolState> {
  const { pools } = await ask(server);
  const found = pools.find(({ name }) => name === 'default');
  if (!found) throw new Error('the server has no default pool');
  return found;
}

async function ask(server: BenchServer): Promise<PoolAnswer> {
  return (await (await server.request('GET', '/pool')).json()) as PoolAnswer;
}
