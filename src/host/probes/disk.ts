import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { dataDir } from '../paths.ts';
import { findProgram } from '../programs.ts';
import { run } from '../run.ts';
import type { Finding } from './check.ts';
import { existingAncestor } from './reflink.ts';

export interface Mount {
  readonly path: string;
  readonly type: string;
  readonly options: readonly string[];
}

/** How a workspace's disk limit can be held: by the file system, by a disk of its own, or by watching. */
export async function lookAtDiskLimits(engineRoot: string | undefined): Promise<Finding> {
  const directory = engineRoot ?? (await existingAncestor(dataDir()));
  const mount = mountOf(directory, await readFile('/proc/self/mountinfo', 'utf8'));
  if (mount && hasProjectQuota(mount)) {
    const details = { mode: 'quota', file_system: mount.type };
    return { state: 'ok', reason: `quota: ${mount.type} enforces limits by itself`, details };
  }
  const failure = await tryLoopDisk();
  return failure === undefined
    ? {
        state: 'ok',
        reason: 'loop: each workspace can have a disk image of its own size',
        details: { mode: 'loop', file_system: mount?.type },
      }
    : {
        state: 'reduced',
        reason: `monitor: use is watched, not enforced (${failure})`,
        remedy: 'run as root on a kernel with loop devices, or use XFS with prjquota, or btrfs',
        details: { mode: 'monitor', file_system: mount?.type },
      };
}

export function hasProjectQuota(mount: Mount): boolean {
  if (mount.type === 'btrfs') return true;
  const projects = mount.options.some((option) => option === 'prjquota' || option === 'pquota');
  return projects && (mount.type === 'xfs' || mount.type === 'ext4');
}

/** The mount that holds a path, from the text of /proc/self/mountinfo; later mounts cover earlier ones. */
export function mountOf(path: string, mountinfo: string): Mount | undefined {
  let found: Mount | undefined;
  for (const line of mountinfo.split('\n')) {
    const [left = '', right = ''] = line.split(' - ');
    const mountPoint = left.split(' ')[4];
    const [type = '', , superOptions = ''] = right.split(' ');
    if (mountPoint === undefined || !contains(mountPoint, path)) continue;
    if (found && mountPoint.length < found.path.length) continue;
    found = { path: mountPoint, type, options: superOptions.split(',') };
  }
  return found;
}

/** Every mount point in the text of /proc/self/mountinfo. */
export function mountPoints(mountinfo: string): string[] {
  return mountinfo.split('\n').flatMap((line) => line.split(' ')[4] ?? []);
}

function contains(mountPoint: string, path: string): boolean {
  return mountPoint === '/' || path === mountPoint || path.startsWith(`${mountPoint}/`);
}

/** Formats and mounts a tiny disk image in a mount namespace of its own, which takes the mount away with it. */
async function tryLoopDisk(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'loop disks need root';
  if ((await findProgram('mkfs.ext4')) === undefined) return 'mkfs.ext4 is not installed';
  const directory = await mkdtemp('/var/tmp/emergent-disk-');
  try {
    const image = join(directory, 'disk.img');
    await writeFile(image, Buffer.alloc(0));
    const script =
      'truncate -s 8M "$1/disk.img" && mkfs.ext4 -q -F -O ^has_journal "$1/disk.img" && mkdir "$1/mnt" && ' +
      'mount -o loop "$1/disk.img" "$1/mnt" && touch "$1/mnt/file" && umount "$1/mnt"';
    const result = await run(
      ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', script, 'sh', directory],
      { timeoutMs: 8_000 },
    );
    return result.failure;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
