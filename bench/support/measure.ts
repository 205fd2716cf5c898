/** Times in milliseconds of one way of doing a thing. */
export interface Sample {
  readonly name: string;
  readonly times: readonly number[];
}

/** What is done after each run is not measured. */
export type Way = readonly [
  name: string,
  run: () => Promise<unknown>,
  after?: () => Promise<unknown>,
];

/** Runs every way once per round, in turn, so that a noisy machine disturbs them alike. */
export async function sideBySide(rounds: number, ways: readonly Way[]): Promise<readonly Sample[]> {
  const times = new Map<string, number[]>(ways.map(([name]) => [name, []]));
  for (const [, run, after] of ways) {
    await run();
    await after?.();
  }
  for (let round = 0; round < rounds; round++) {
    for (const [name, run, after] of ways) {
      const startedAt = performance.now();
      await run();
      times.get(name)?.push(performance.now() - startedAt);
      await after?.();
    }
  }
  return [...times].map(([name, all]) => ({ name, times: all }));
}

export function quantile(sample: Sample, q: number): number {
  const sorted = sample.times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
}

export const median = (sample: Sample): number => quantile(sample, 0.5);

/** A table of the samples; the first is ours, and the others are given as multiples of it. */
export function report(title: string, samples: readonly Sample[], goal: string): void {
  const [ours] = samples;
  if (!ours) return;
  console.log(`\n${title}   goal: ${goal}`);
  const columns = ['p50 ms', 'p95 ms', 'p99 ms'].map((name) => name.padStart(9));
  console.log(`  ${'way'.padEnd(34)}${columns.join('')}${'ratio'.padStart(8)}`);
  for (const sample of samples) {
    const ratio = median(sample) / median(ours);
    const figures = [0.5, 0.95, 0.99].map((q) => quantile(sample, q).toFixed(1).padStart(9));
    const times = sample === ours ? '' : `${ratio.toFixed(1)}x`;
    console.log(`  ${sample.name.padEnd(34)}${figures.join('')}${times.padStart(8)}`);
  }
}
