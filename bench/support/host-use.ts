import { readFile, readdir } from 'node:fs/promises';
import { systemClock } from '../../src/base/clock.ts';

const ticksPerSecond = 100;

/** In percent of one core. */
export interface CpuUse {
  readonly host: number;
  /** The part of it that some processes used. */
  readonly part: number;
}

/** The CPU that the whole host and some of its processes use meanwhile. */
export async function cpuUse(seconds: number, pids: readonly number[] = []): Promise<CpuUse> {
  const startedAt = systemClock.monotonic();
  const before = [await busyTicks(), await ticksOf(pids)] as const;
  await systemClock.sleep(seconds * 1000);
  const after = [await busyTicks(), await ticksOf(pids)] as const;
  const ticks = ((systemClock.monotonic() - startedAt) / 1000) * ticksPerSecond;
  return {
    host: ((after[0] - before[0]) / ticks) * 100,
    part: ((after[1] - before[1]) / ticks) * 100,
  };
}

/** From "pid (name) state … user-ticks system-ticks …". */
async function ticksOf(pids: readonly number[]): Promise<number> {
  let sum = 0;
  for (const pid of pids) {
    const text = await readFile(`/proc/${String(pid)}/stat`, 'utf8').catch(() => '');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    sum += Number(fields[14 - 3] ?? 0) + Number(fields[15 - 3] ?? 0);
  }
  return sum;
}

/** "cpu user nice system idle iowait irq softirq steal …" */
async function busyTicks(): Promise<number> {
  const [line = ''] = (await readFile('/proc/stat', 'utf8')).split('\n');
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = line
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return user + nice + system + irq + softirq;
}

/** Memory that is a process's own, and its share of what it has in common with others. */
export async function proportionalKb(pid: number): Promise<number> {
  const text = await readFile(`/proc/${String(pid)}/smaps_rollup`, 'utf8');
  return Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? Number.NaN);
}

/** What one sandbox is on the host. */
export interface SandboxProcesses {
  /** The one that is its kernel. */
  readonly sentry: number;
  /** All of it: kernel, gofer, guests, and the engine's shim. */
  readonly all: readonly number[];
}

export async function sandboxProcesses(containerId: string): Promise<SandboxProcesses> {
  const found: number[] = [];
  let sentry = 0;
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const read = (name: string): Promise<string> =>
      readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '');
    const words = await read('cmdline');
    const isShim = words.includes('containerd-shim') && words.includes(containerId);
    if (!isShim && !(await read('cgroup')).includes(containerId)) continue;
    found.push(Number(pid));
    if (words.startsWith('runsc-sandbox\0')) sentry = Number(pid);
  }
  if (sentry === 0) throw new Error(`no sandbox of ${containerId} runs`);
  return { sentry, all: found };
}

/** Whether a process is stopped. */
export async function isStopped(pid: number): Promise<boolean> {
  return /^State:\tT/m.test(await readFile(`/proc/${String(pid)}/status`, 'utf8'));
}
