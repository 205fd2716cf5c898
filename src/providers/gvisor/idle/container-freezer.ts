import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { reasonOf } from '../../../base/reason.ts';
import { unlessMissing } from '../disk/host-files.ts';
import { cgroupMounts } from '../stats/cgroup-mounts.ts';
import type { CgroupMount } from '../stats/cgroup-mounts.ts';
import { SentryFreezer } from './freezer.ts';
import type { Freezer } from './freezer.ts';

export type FreezerLook =
  | { readonly state: 'found'; readonly freezer: Freezer }
  | { readonly state: 'absent'; readonly why: string };

/** How gVisor names the process that is the kernel of a sandbox. */
const sentryName = 'runsc-sandbox';

/**
 * The freezer of a running container of this host, found without asking the engine for its process: the engine's
 * answers about a container wait while that is frozen and somebody tries to use it.
 */
export async function containerFreezer(containerId: string): Promise<FreezerLook> {
  const mountinfo = await unlessMissing(readFile('/proc/self/mountinfo', 'utf8'));
  const pids =
    (await inUsualPlace(containerId, cgroupMounts(mountinfo ?? ''))) ??
    (await anywhere(containerId));
  if (pids.length === 0) return absent('the containers of the engine do not run on this host');
  for (const pid of pids) {
    if ((await nameOf(pid)) !== sentryName) continue;
    const refusal = refusalOf(Number(pid));
    if (refusal !== undefined) return absent(refusal);
    const freezer = SentryFreezer.of(Number(pid));
    if (freezer) return { state: 'found', freezer };
  }
  return absent('only sandboxes of gVisor can be frozen');
}

function absent(why: string): FreezerLook {
  return { state: 'absent', why };
}

/** The processes of the container, where the engine's two ways of making control groups put them by default. */
async function inUsualPlace(
  containerId: string,
  mounts: readonly CgroupMount[],
): Promise<readonly string[] | undefined> {
  const names = [join('docker', containerId), join('system.slice', `docker-${containerId}.scope`)];
  for (const { point } of mounts) {
    for (const name of names) {
      const text = await unlessMissing(readFile(join(point, name, 'cgroup.procs'), 'utf8'));
      if (text !== undefined && text !== '') return text.trim().split('\n');
    }
  }
  return undefined;
}

/** Those that say they are in a control group of the container's name. */
async function anywhere(containerId: string): Promise<readonly string[]> {
  const pids: string[] = [];
  for (const pid of (await unlessMissing(readdir('/proc'))) ?? []) {
    if (!/^\d+$/.test(pid)) continue;
    const groups = await textOf(pid, 'cgroup');
    if (groups.includes(containerId)) pids.push(pid);
  }
  return pids;
}

async function nameOf(pid: string): Promise<string | undefined> {
  return (await textOf(pid, 'cmdline')).split('\0')[0];
}

/** Empty where it has ended meanwhile. */
function textOf(pid: string, name: string): Promise<string> {
  return readFile(join('/proc', pid, name), 'utf8').catch(() => '');
}

function refusalOf(pid: number): string | undefined {
  try {
    process.kill(pid, 0);
    return undefined;
  } catch (error) {
    return `the processes of the engine cannot be stopped: ${reasonOf(error)}`;
  }
}
