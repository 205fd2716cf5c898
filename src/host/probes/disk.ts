import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { reasonOf } from '../../base/reason.ts';
import type { Engine } from '../docker/engine.ts';
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

/**
 * How a workspace's disk limit can be held: by the engine's file system, by a disk of its own, or by watching. The
 * server finds out by filling a volume; this looks for what it needs.
 */
export async function lookAtDiskLimits(engine: Engine | undefined): Promise<Finding> {
  const asked = process.env['WORKSPACE_DISK_MODE'] || 'auto';
  const directory = engine?.local ? engine.info.DockerRootDir : await existingAncestor(dataDir());
  const mount = mountOf(directory, await readFile('/proc/self/mountinfo', 'utf8'));
  const details = { setting: asked, file_system: mount?.type };
  if (asked === 'monitor') return watched('WORKSPACE_DISK_MODE asks for it', details);

  const noQuota = asked === 'loop' ? 'not asked for' : await whyNoQuota(engine);
  if (noQuota === undefined) {
    const reason = 'quota: the engine limits volumes by itself';
    return { state: 'ok', reason, details: { mode: 'quota', ...details } };
  }
  const noLoop = asked === 'quota' ? 'not asked for' : await whyNoLoop(engine);
  if (noLoop !== undefined) return watched(`quota: ${noQuota}; loop: ${noLoop}`, details);
  return {
    state: 'ok',
    reason: 'loop: /workspace is a disk image of its own size; writes outside it are not limited',
    details: { mode: 'loop', no_quota: noQuota, ...details },
  };
}

function watched(why: string, details: Readonly<Record<string, unknown>>): Finding {
  return {
    state: 'reduced',
    reason: `monitor: use is watched, not enforced (${why})`,
    remedy:
      'run the server as root beside the engine, on a kernel with loop devices and with e2fsprogs and util-linux ' +
      "installed; or put the engine's data on XFS with prjquota",
    details: { mode: 'monitor', ...details },
  };
}

/** The engine refuses a volume with a size unless its file system has project quotas. */
async function whyNoQuota(engine: Engine | undefined): Promise<string | undefined> {
  if (!engine) return 'needs the Docker engine';
  const Name = `emergent-doctor-${randomUUID()}`;
  try {
    await engine.docker.createVolume({ Name, DriverOpts: { size: '16M' } });
  } catch (error) {
    return reasonOf(error);
  }
  await engine.docker.getVolume(Name).remove();
  return undefined;
}

async function whyNoLoop(engine: Engine | undefined): Promise<string | undefined> {
  if (engine && !engine.local) return 'the engine is not on this host';
  return tryLoopDisk();
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

/** What disks of workspaces are made with, and the packages that bring it. */
export const loopPrograms: Readonly<Record<string, string>> = {
  'mkfs.ext4': 'e2fsprogs',
  losetup: 'util-linux',
  mount: 'util-linux',
  umount: 'util-linux',
};

/** Formats and mounts a tiny disk image in a mount namespace of its own, which takes the mount away with it. */
async function tryLoopDisk(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'loop disks need root';
  for (const [program, owner] of Object.entries(loopPrograms)) {
    if ((await findProgram(program)) === undefined) {
      return `${program} is not installed (package ${owner})`;
    }
  }
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
