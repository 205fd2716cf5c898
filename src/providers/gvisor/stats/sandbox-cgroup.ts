import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../../base/clock.ts';
import { isMissing, unlessMissing } from '../disk/host-files.ts';
import { SentryFreezer } from '../idle/freezer.ts';
import { cgroupMounts, placesOf } from './cgroup-mounts.ts';
import type { CgroupPlaces } from './cgroup-mounts.ts';

/** What the host's kernel knows of one running sandbox; reading it never touches the sandbox. */
export interface CgroupUse {
  /** When the CPU time was read. */
  readonly at: Date;
  readonly cpuSeconds: number | null;
  /** What it cannot take back, the sandbox's own part included. */
  readonly memoryBytes: number | null;
  /** Frozen, or about to be. */
  readonly frozen: boolean;
}

/** Undefined where the container runs on another host, or its control group cannot be seen. */
export async function cgroupUse(
  pid: number,
  containerId: string,
  clock: Clock,
): Promise<CgroupUse | undefined> {
  const text = await unlessMissing(readFile(`/proc/${String(pid)}/cgroup`, 'utf8'));
  const mountinfo = await unlessMissing(readFile('/proc/self/mountinfo', 'utf8'));
  if (text === undefined || mountinfo === undefined) return undefined;
  const places = placesOf(text, containerId, cgroupMounts(mountinfo));
  if (!places) return undefined;
  const cpuSeconds = cpuSecondsIn(places);
  const at = clock.now();
  const [memoryBytes, frozen] = await Promise.all([memoryBytesIn(places), frozenIn(places)]);
  const stopped = SentryFreezer.of(pid)?.state() === 'frozen';
  return { at, cpuSeconds, memoryBytes, frozen: frozen || stopped };
}

/** Synchronous, so that the time is that of the reading: rates are taken from both. */
function cpuSecondsIn({ version, cpu }: CgroupPlaces): number | null {
  if (cpu === undefined) return null;
  const read = (name: string): string => readFileSync(join(cpu, name), 'utf8');
  try {
    if (version === 1) return scaled(toNumber(read('cpuacct.usage')), 1e9);
    return scaled(fieldOf(read('cpu.stat'), 'usage_usec'), 1e6);
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/** Without files that are only cached. */
async function memoryBytesIn({ version, memory }: CgroupPlaces): Promise<number | null> {
  const [usage, cached] =
    version === 1
      ? (['memory.usage_in_bytes', 'total_inactive_file'] as const)
      : (['memory.current', 'inactive_file'] as const);
  const used = await numberIn(memory, usage);
  const files = fieldOf(await contentOf(memory, 'memory.stat'), cached);
  return used === null ? null : Math.max(0, used - (files ?? 0));
}

async function frozenIn({ version, freezer }: CgroupPlaces): Promise<boolean> {
  const name = version === 1 ? 'freezer.state' : 'cgroup.freeze';
  const state = (await contentOf(freezer, name))?.trim();
  return state !== undefined && state !== (version === 1 ? 'THAWED' : '0');
}

async function numberIn(directory: string | undefined, name: string): Promise<number | null> {
  return toNumber(await contentOf(directory, name));
}

/** Of a text with "name number" on each line. */
function fieldOf(text: string | undefined, field: string): number | null {
  const lines = text?.split('\n') ?? [];
  return toNumber(lines.find((line) => line.startsWith(`${field} `))?.slice(field.length));
}

function toNumber(text: string | undefined): number | null {
  const trimmed = text?.trim() ?? '';
  return /^\d+$/.test(trimmed) ? Number(trimmed) : null;
}

function scaled(value: number | null, by: number): number | null {
  return value === null ? null : value / by;
}

/** Undefined where it is not there: the controller is not mounted, or the sandbox has just ended. */
async function contentOf(directory: string | undefined, name: string): Promise<string | undefined> {
  if (directory === undefined) return undefined;
  return unlessMissing(readFile(join(directory, name), 'utf8'));
}
