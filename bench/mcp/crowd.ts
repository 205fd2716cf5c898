import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { quantile } from '../support/measure.ts';
import { programs, startBoth, waysTo } from './ways.ts';
import type { Program } from './ways.ts';

const clients = 50;
const callsEach = 40;
const turns = 3;

interface Figures {
  readonly name: string;
  readonly times: number[];
  seconds: number;
}

/** Fifty clients on one server, each with one call at a time, against fifty calls of one client at once. */
export async function crowd(): Promise<void> {
  await using servers = await startBoth();
  for (const program of programs(servers)) {
    await using ways = await waysTo(servers, program);
    const many = (connect: () => Promise<Client>): Promise<Client[]> =>
      Promise.all(Array.from({ length: clients }, connect));
    const crowds = [
      ['direct: one client, 50 calls at once', Array<Client>(clients).fill(ways.direct)],
      ['gateway, unsandboxed: 50 clients', await many(() => ways.unsandboxed.connect())],
      ['gateway, runsc: 50 clients', await many(() => ways.runsc.connect())],
    ] as const;
    const figures = crowds.map(([name]): Figures => ({ name, times: [], seconds: 0 }));
    // The first turn is for warming up.
    for (let turn = 0; turn <= turns; turn++) {
      for (const [at, [, all]] of crowds.entries()) {
        const seen = await rush(all, program);
        const one = figures[at];
        if (turn === 0 || !one) continue;
        one.times.push(...seen.times);
        one.seconds += seen.seconds;
      }
    }
    tell(program.name, figures);
  }
}

async function rush(
  all: readonly Client[],
  { tool, toolArguments }: Program,
): Promise<{ times: number[]; seconds: number }> {
  const times: number[] = [];
  const startedAt = performance.now();
  await Promise.all(
    all.map(async (client) => {
      for (let call = 0; call < callsEach; call++) {
        const calledAt = performance.now();
        await client.callTool({ name: tool, arguments: { ...toolArguments } });
        times.push(performance.now() - calledAt);
      }
    }),
  );
  return { times, seconds: (performance.now() - startedAt) / 1000 };
}

function tell(name: string, figures: readonly Figures[]): void {
  console.log(`\n50 calls in flight on one server: ${name}`);
  const header = ['calls/s', 'p50 ms', 'p99 ms', 'of direct'].map((word) => word.padStart(11));
  console.log(`  ${'way'.padEnd(40)}${header.join('')}`);
  const rate = ({ times, seconds }: Figures): number => times.length / seconds;
  const [direct] = figures;
  for (const one of figures) {
    const cells = [
      rate(one).toFixed(0),
      quantile(one, 0.5).toFixed(1),
      quantile(one, 0.99).toFixed(1),
      direct && one !== direct ? `${((rate(one) / rate(direct)) * 100).toFixed(0)} %` : '',
    ];
    console.log(`  ${one.name.padEnd(40)}${cells.map((cell) => cell.padStart(11)).join('')}`);
  }
}
