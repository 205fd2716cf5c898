// From nothing to the end of the first command: through the HTTP API, side by side with the bare calls of the same
// engine that make a volume and a container with the same runtime, limits and network, start it and run a command.
// Run: npm run bench:create [-- rounds]
import { median, report, sideBySide } from './support/measure.ts';
import { BareSandbox } from './support/bare-sandbox.ts';
import { benchServer } from './support/server.ts';
import type { BenchServer } from './support/server.ts';

const rounds = Number(process.argv[2] ?? 15);
const goal = 1.15;

interface Created {
  readonly id: string;
  readonly metadata: { readonly start_steps_ms?: Readonly<Record<string, number>> };
}

/** `monitor`: no disk of its own on either side. `loop`: a file with ext4, mounted, on both. */
for (const disk of ['monitor', 'loop'] as const) {
  await using server = await benchServer({ WORKSPACE_DISK_MODE: disk });
  const steps: Readonly<Record<string, number>>[] = [];
  const around: number[] = [];
  const commands: number[] = [];
  let created = await create(server);
  await using bare = await BareSandbox.like(`emergent-${created.id}`, disk === 'loop');
  await server.request('DELETE', `/${created.id}`);

  const samples = await sideBySide(rounds, [
    [
      'API, create and bash "true"',
      async () => {
        const beganAt = performance.now();
        created = await create(server);
        const startedAt = performance.now();
        const inSteps = Object.values(created.metadata.start_steps_ms ?? {});
        around.push(startedAt - beganAt - inSteps.reduce((sum, ms) => sum + ms, 0));
        await server.request('POST', `/${created.id}/bash`, { command: 'true' });
        commands.push(performance.now() - startedAt);
        steps.push(created.metadata.start_steps_ms ?? {});
      },
      () => server.request('DELETE', `/${created.id}`),
    ],
    ['bare engine calls, exec "true"', () => bare.create(), () => bare.remove()],
  ]);
  report(`cold create to first command, disk ${disk}`, samples, `API ≤ ${String(goal)}x of bare`);
  const [ours, theirs] = samples;
  if (ours && theirs) {
    console.log(`  the API takes ${(median(ours) / median(theirs)).toFixed(2)}x of the bare calls`);
  }
  const names = Object.keys(steps[0] ?? {});
  const inSteps = names.map((name) => `${name} ${medianOf(steps.map((each) => each[name] ?? 0))}`);
  const rest = [`around the steps ${medianOf(around)}`, `bash ${medianOf(commands)}`];
  console.log(`  of that, in ms: ${[...inSteps, ...rest].join(', ')}`);
}

async function create(server: BenchServer): Promise<Created> {
  return (await (await server.request('POST', '')).json()) as Created;
}

function medianOf(times: readonly number[]): string {
  return median({ name: '', times }).toFixed(0);
}
