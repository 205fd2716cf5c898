import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { quantile, sideBySide } from '../support/measure.ts';
import type { Sample } from '../support/measure.ts';
import { programs, startBoth, waysTo } from './ways.ts';

const rounds = 1_000;

/** One call at a time, each way in turn. */
export async function latency(): Promise<void> {
  await using servers = await startBoth();
  for (const program of programs(servers)) {
    await using ways = await waysTo(servers, program);
    const call = (client: Client) => (): Promise<unknown> =>
      client.callTool({ name: program.tool, arguments: { ...program.toolArguments } });
    const clients = [
      ['direct: spawned by the SDK', ways.direct],
      ['direct over HTTP: served by itself', ways.ownHttp],
      ['gateway, unsandboxed', await ways.unsandboxed.connect()],
      ['gateway, runsc', await ways.runsc.connect()],
    ] as const;
    for (let warmUp = 0; warmUp < 50; warmUp++) {
      for (const [, client] of clients) await call(client)();
    }
    const samples = await sideBySide(
      rounds,
      clients.map(([name, client]) => [name, call(client)]),
    );
    table(`a call of a tool: ${program.name}`, samples, 'unsandboxed adds ≤ 3 ms at p50');
  }
}

/** With what each adds to the first. */
export function table(title: string, samples: readonly Sample[], goal: string): void {
  const quantiles = [0.5, 0.95, 0.99];
  const [first] = samples;
  if (!first) return;
  console.log(`\n${title}   goal: ${goal}`);
  const header = ['p50 ms', 'p95 ms', 'p99 ms', '+ p50', '+ p95', '+ p99'];
  console.log(`  ${'way'.padEnd(34)}${header.map((name) => name.padStart(9)).join('')}`);
  for (const sample of samples) {
    const own = quantiles.map((q) => quantile(sample, q));
    const added = quantiles.map((q) => quantile(sample, q) - quantile(first, q));
    const figures = [...own, ...(sample === first ? [] : added)];
    console.log(
      `  ${sample.name.padEnd(34)}${figures.map((ms) => ms.toFixed(2).padStart(9)).join('')}`,
    );
  }
}
