import { report } from '../support/measure.ts';
import type { Sample } from '../support/measure.ts';
import { poolHits, poolOf } from '../support/pool.ts';
import type { BenchServer } from '../support/server.ts';
import { bareLike, create, destroy, unpooled } from './client.ts';
import type { Created } from './client.ts';

/** Many at once: the times until each had answered, and until the last had. */
class Bursts {
  readonly #name: string;
  readonly #each: number[] = [];
  readonly #last: number[] = [];

  constructor(name: string) {
    this.#name = name;
  }

  async measure<T>(starts: readonly (() => Promise<T>)[]): Promise<T[]> {
    const startedAt = performance.now();
    const times: number[] = [];
    const made = await Promise.all(
      starts.map(async (start) => {
        const result = await start();
        times.push(performance.now() - startedAt);
        return result;
      }),
    );
    this.#each.push(...times);
    this.#last.push(Math.max(...times));
    return made;
  }

  get each(): Sample {
    return { name: this.#name, times: this.#each };
  }

  get last(): Sample {
    return { name: this.#name, times: this.#last };
  }
}

/** As many creates at once as the pool holds, against as many cold ones and as many bare starts. */
export async function burst(server: BenchServer, size: number, rounds: number): Promise<void> {
  const [warm, cold, bare] = [
    new Bursts('API, warm'),
    new Bursts('API, cold'),
    new Bursts('bare engine, create and start'),
  ];
  await using opened = new AsyncDisposableStack();
  const sandboxes = await bareLike(server, size);
  for (const sandbox of sandboxes) opened.use(sandbox);
  const times = <T>(start: () => Promise<T>): (() => Promise<T>)[] =>
    Array.from({ length: size }, () => start);
  const removeAll = async (all: readonly Created[]): Promise<void> => {
    for (const one of all) await destroy(server, one);
  };

  const before = await poolHits(server);
  for (let round = 0; round < rounds; round += 1) {
    await poolOf(server, size);
    await removeAll(await warm.measure(times(() => create(server))));
    await poolOf(server, size);
    await removeAll(await cold.measure(times(() => create(server, unpooled))));
    await bare.measure(sandboxes.map((sandbox) => () => sandbox.start()));
    for (const sandbox of sandboxes) await sandbox.remove();
  }
  const hits = (await poolHits(server)) - before;
  const what = `${String(size)} creates at once on a pool of ${String(size)}`;
  report(`${what}: until each is ready`, [warm.each, cold.each, bare.each], 'none');
  report(`${what}: until the last is ready`, [warm.last, cold.last, bare.last], 'none');
  console.log(`  ${String(hits)} of ${String(size * rounds)} were in the pool`);
}
