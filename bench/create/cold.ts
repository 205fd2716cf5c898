import { BareSandbox } from '../support/bare-sandbox.ts';
import { median, report, sideBySide } from '../support/measure.ts';
import { benchServer } from '../support/server.ts';
import { create, destroy, firstCommand } from './client.ts';

const goal = 1.15;

/** `monitor`: no disk of its own on either side. `loop`: a file with ext4, mounted, on both. */
export async function coldCreate(disk: 'monitor' | 'loop', rounds: number): Promise<void> {
  await using server = await benchServer({ WORKSPACE_DISK_MODE: disk });
  const steps: Readonly<Record<string, number>>[] = [];
  const around: number[] = [];
  const commands: number[] = [];
  let created = await create(server);
  await using bare = await BareSandbox.like(`emergent-${created.id}`, disk === 'loop');
  await destroy(server, created);

  const samples = await sideBySide(rounds, [
    [
      'API, create and bash "true"',
      async () => {
        const beganAt = performance.now();
        created = await create(server);
        const startedAt = performance.now();
        const inSteps = Object.values(created.metadata.start_steps_ms ?? {});
        around.push(startedAt - beganAt - inSteps.reduce((sum, ms) => sum + ms, 0));
        await firstCommand(server, created);
        commands.push(performance.now() - startedAt);
        steps.push(created.metadata.start_steps_ms ?? {});
      },
      () => destroy(server, created),
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

function medianOf(times: readonly number[]): string {
  return median({ name: '', times }).toFixed(0);
}
