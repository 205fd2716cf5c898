import { median, quantile, report } from '../support/measure.ts';
import type { Sample } from '../support/measure.ts';
import { poolHits, poolOf } from '../support/pool.ts';
import type { BenchServer } from '../support/server.ts';
import { bareLike, create, destroy, firstCommand, unpooled } from './client.ts';

const goal = { p50: 10, p99: 50 };
/** One cold and one bare start for each so many warm ones: they take far longer and vary less. */
const coldEvery = 7;

/** One way to a workspace: the times until it was there, and until its first command had ended. */
class Way {
  readonly #name: string;
  readonly #ready: number[] = [];
  readonly #used: number[] = [];

  constructor(name: string) {
    this.#name = name;
  }

  async measure<T>(start: () => Promise<T>, use: (made: T) => Promise<void>): Promise<T> {
    const startedAt = performance.now();
    const made = await start();
    this.#ready.push(performance.now() - startedAt);
    await use(made);
    this.#used.push(performance.now() - startedAt);
    return made;
  }

  /** The first of each kind warms up the caches of whoever serves it. */
  forget(): void {
    this.#ready.length = 0;
    this.#used.length = 0;
  }

  get ready(): Sample {
    return { name: this.#name, times: this.#ready };
  }

  get used(): Sample {
    return { name: this.#name, times: this.#used };
  }
}

/** One client: each warm create meets a pool that is full and at rest, with cold and bare ones in between. */
export async function warmCreate(server: BenchServer, size: number, rounds: number): Promise<void> {
  const [warm, cold, bare] = [
    new Way('API, warm'),
    new Way('API, cold'),
    new Way('bare engine, create and start'),
  ];
  const [sandbox] = await bareLike(server, 1);
  if (!sandbox) throw new Error('there is nothing to compare with');
  await using _ = sandbox;
  const viaApi = async (way: Way, wanted?: unknown): Promise<void> => {
    const made = await way.measure(
      () => create(server, wanted),
      (created) => firstCommand(server, created),
    );
    await destroy(server, made);
  };
  const round = async (number: number): Promise<void> => {
    await poolOf(server, size);
    await viaApi(warm);
    if (number % coldEvery !== 0) return;
    await poolOf(server, size);
    await viaApi(cold, unpooled);
    await bare.measure(
      () => sandbox.start(),
      () => sandbox.firstCommand(),
    );
    await sandbox.remove();
  };
  await round(0);
  for (const way of [warm, cold, bare]) way.forget();
  const before = await poolHits(server);
  for (let number = 0; number < rounds; number += 1) await round(number);
  const hits = (await poolHits(server)) - before;

  const wanted = `warm p50 ≤ ${String(goal.p50)} ms, p99 ≤ ${String(goal.p99)} ms`;
  report('create until it is ready, one client', [warm.ready, cold.ready, bare.ready], wanted);
  const met = median(warm.ready) <= goal.p50 && quantile(warm.ready, 0.99) <= goal.p99;
  console.log(
    `  ${String(hits)} of ${String(rounds)} were in the pool; the goal is ${met ? '' : 'NOT '}met`,
  );
  report('create until the first command has ended', [warm.used, cold.used, bare.used], 'none');
}
