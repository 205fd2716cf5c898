// What workspaces cost in which nothing runs: CPU of the whole host, memory of the server and of the sandbox, frozen
// and not, in the same run; and how long one that is frozen takes to answer.
// Run as root on a quiet machine: npm run bench:idle [-- seconds count...]
import Docker from 'dockerode';
import { systemClock } from '../src/base/clock.ts';
import { cpuUse, isStopped, proportionalKb, sandboxProcesses } from './support/host-use.ts';
import type { CpuUse, SandboxProcesses } from './support/host-use.ts';
import { median, report, sideBySide } from './support/measure.ts';
import { benchServer } from './support/server.ts';

const [seconds = 10, ...counts] = process.argv.slice(2).map(Number);
const sizes = counts.length > 0 ? counts : [1, 10, 50];
const rounds = 30;
const turns = 3;
const settings = { WORKSPACE_IDLE_FREEZE: '2s', WORKSPACE_MAX_CONCURRENT: '1000' };

interface Workspace {
  readonly id: string;
  readonly processes: SandboxProcesses;
}

const docker = new Docker();
await using server = await benchServer(settings);
const workspaces: Workspace[] = [];

async function add(): Promise<void> {
  const { id } = (await (await server.request('POST', '')).json()) as { id: string };
  const { Id } = await docker.getContainer(`emergent-${id}`).inspect();
  workspaces.push({ id, processes: await sandboxProcesses(Id) });
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await systemClock.sleep(20);
}

const allStopped = async (): Promise<boolean> =>
  (await Promise.all(workspaces.map(({ processes }) => isStopped(processes.sentry)))).every(
    Boolean,
  );
const noneStopped = async (): Promise<boolean> =>
  !(await Promise.all(workspaces.map(({ processes }) => isStopped(processes.sentry)))).some(
    Boolean,
  );

/** Thaws them behind the server's back, which leaves them so until it next looks at all there are. */
function thawAll(): void {
  for (const { processes } of workspaces) process.kill(processes.sentry, 'SIGCONT');
}

function stopAll(): void {
  for (const { processes } of workspaces) process.kill(processes.sentry, 'SIGSTOP');
}

const measured = (): Promise<CpuUse> =>
  cpuUse(
    seconds,
    workspaces.flatMap(({ processes }) => processes.all),
  );

async function measuredThawed(): Promise<CpuUse> {
  for (;;) {
    thawAll();
    const use = await measured();
    // Otherwise the server has looked meanwhile, and froze some.
    if (await noneStopped()) return use;
  }
}

async function sandboxKb(): Promise<number> {
  const some = workspaces.slice(0, 10);
  let sum = 0;
  for (const { processes } of some) {
    for (const pid of processes.all) sum += await proportionalKb(pid).catch(() => 0);
  }
  return sum / some.length;
}

/** The host's part is what it uses more than without any; a busy host makes it worthless. */
const shown = (uses: readonly CpuUse[]): string => {
  const mean = (part: (use: CpuUse) => number): number =>
    uses.reduce((sum, use) => sum + part(use), 0) / uses.length;
  return `${(mean(({ host }) => host) - empty.host).toFixed(2)} (${mean(({ part }) => part).toFixed(2)})`;
};
const column = (text: string): string => text.padStart(16);

await systemClock.sleep(5_000);
const [empty, emptyKb] = [await cpuUse(seconds), await proportionalKb(server.pid)];
console.log(`\nidle workspaces   goal: frozen ones use no CPU; server ≤ 100 KB each`);
console.log('  CPU in % of one core: of the whole host (of the sandboxes alone)');
console.log(
  `  without any: host CPU ${empty.host.toFixed(2)} % of a core, server ${String(emptyKb)} KB`,
);
console.log(
  ['  workspaces', 'frozen CPU %', 'thawed CPU %', 'server KB each', 'sandbox KB each']
    .map(column)
    .join(''),
);
for (const size of sizes) {
  while (workspaces.length < size) await add();
  await until(allStopped);
  const [frozen, thawed]: [CpuUse[], CpuUse[]] = [[], []];
  for (let turn = 0; turn < turns; turn++) {
    frozen.push(await measured());
    thawed.push(await measuredThawed());
    stopAll();
    await until(allStopped);
  }
  const serverKb = ((await proportionalKb(server.pid)) - emptyKb) / size;
  const cells = [
    String(size),
    shown(frozen),
    shown(thawed),
    serverKb.toFixed(0),
    (await sandboxKb()).toFixed(0),
  ];
  console.log(cells.map(column).join(''));
}

while (workspaces.length < 2) await add();
const [cold, warm] = workspaces;
if (!cold || !warm) throw new Error('there are no workspaces');
await server.request('POST', `/${cold.id}/write`, { file_path: 'file', content: 'text' });
await server.request('POST', `/${warm.id}/write`, { file_path: 'file', content: 'text' });
const freeze = async (): Promise<void> => {
  process.kill(cold.processes.sentry, 'SIGSTOP');
  await until(() => isStopped(cold.processes.sentry));
};
const operations = {
  read: ({ id }: Workspace) => server.request('POST', `/${id}/read`, { file_path: 'file' }),
  'bash "true"': ({ id }: Workspace) => server.request('POST', `/${id}/bash`, { command: 'true' }),
};
for (const [name, operation] of Object.entries(operations)) {
  const samples = await sideBySide(rounds, [
    [`${name}, frozen`, async () => (await operation(cold)).text(), freeze],
    [`${name}, thawed`, async () => (await operation(warm)).text()],
  ]);
  report(`thaw to answer: ${name}`, samples, 'frozen at most 5 ms more');
  const [frozen, thawed] = samples;
  if (frozen && thawed) {
    console.log(`  frozen takes ${(median(frozen) - median(thawed)).toFixed(2)} ms more`);
  }
}
process.kill(cold.processes.sentry, 'SIGCONT');
for (const { id } of workspaces) await server.request('DELETE', `/${id}`);
