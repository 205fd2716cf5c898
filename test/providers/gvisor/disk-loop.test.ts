import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { run } from '../../../src/host/run.ts';
import { LoopDisks, placeOfFiles } from '../../../src/providers/gvisor/disk/loop-disks.ts';
import type { DiskPlace } from '../../../src/providers/gvisor/disk/loop-disks.ts';
import { soon } from '../../conformance/sandbox.ts';
import { eventually } from '../../support/eventually.ts';
import { diskState, nothing, tool } from './support/disk-state.ts';

const bytes = 64 * 2 ** 20;

let directory: string;
let disks: LoopDisks;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'emergent disks '));
  disks = new LoopDisks(join(directory, 'installation'), systemClock, run);
});
afterEach(async () => {
  const left = await diskState(directory);
  for (const point of left.mounts.toReversed()) await tool('umount', '--lazy', point);
  await rm(directory, { recursive: true, force: true });
  expect(left).toEqual(nothing);
});

async function made(): Promise<DiskPlace> {
  const place = disks.place(randomUUID());
  await disks.make(place, bytes, soon());
  return place;
}

test('a disk is mounted, empty, owned by root and takes no more than its size', async () => {
  const place = await made();
  const { uid, mode } = await stat(place.files);
  expect([uid, mode & 0o7777]).toEqual([0, 0o755]);
  await expect(writeFile(join(place.files, 'big'), Buffer.alloc(bytes))).rejects.toMatchObject({
    code: 'ENOSPC',
  });
  expect(await disks.use(place)).toMatchObject({ limitBytes: expect.any(Number) as number });
  expect(placeOfFiles(place.files)).toEqual(place);
  const image = await stat(place.image);
  expect(image.size).toBe(bytes);
  await rm(join(place.files, 'big'));
  await disks.remove(place, soon());
});

test('what is deleted goes back to the host', async () => {
  const place = await made();
  const big = join(place.files, 'big');
  await writeFile(big, Buffer.alloc(32 * 2 ** 20, 1));
  await tool('sync', '-f', place.files);
  expect((await stat(place.image)).blocks * 512).toBeGreaterThan(32 * 2 ** 20);
  await rm(big);
  // Freed blocks are given back behind the writer's back, but before the disk is unmounted; that is not so at once where
  // a container that is starting has a copy of the mount.
  await tool('umount', place.mount);
  await eventually(async () => {
    expect((await stat(place.image)).blocks * 512).toBeLessThan(16 * 2 ** 20);
  });
  await disks.remove(place, soon());
});

test('mounts again what a reboot has unmounted, and only once', async () => {
  const place = await made();
  await writeFile(join(place.files, 'kept'), 'yes');
  await tool('umount', place.mount);
  await rm(place.mount, { recursive: true });
  await disks.mount(place);
  await disks.mount(place);
  expect((await diskState(directory)).mounts).toHaveLength(1);
  expect((await stat(join(place.files, 'kept'))).size).toBe(3);
  await disks.remove(place, soon());
});

test('a disk without its file, and one that was never finished, have lost their files', async () => {
  const place = disks.place(randomUUID());
  await expect(disks.mount(place)).rejects.toMatchObject({ code: 'files_lost' });
  await made().then(async (unfinished) => {
    await rm(unfinished.files, { recursive: true });
    await expect(disks.mount(unfinished)).rejects.toMatchObject({ code: 'files_lost' });
    await disks.remove(unfinished, soon());
  });
});

/** Everything that a server killed between two steps can leave, made by hand. */
const leftovers: Record<string, (place: DiskPlace) => Promise<void>> = {
  'only a mount point': async ({ mount }) => {
    await mkdir(mount, { recursive: true });
  },
  'an empty file': async ({ image, mount }) => {
    await mkdir(mount, { recursive: true });
    await writeFile(image, '');
  },
  'a file without a file system': async ({ image, mount }) => {
    await mkdir(mount, { recursive: true });
    await writeFile(image, '');
    await truncate(image, bytes);
  },
  'a file on a loop device that is not mounted': async ({ image, mount }) => {
    await mkdir(mount, { recursive: true });
    await writeFile(image, '');
    await truncate(image, bytes);
    await tool('mkfs.ext4', '-q', image);
    await tool('losetup', '--find', image);
  },
  'a mounted disk without a directory for files': async (place) => {
    await disks.make(place, bytes, soon());
    await rm(place.files, { recursive: true });
  },
  'a mounted disk': (place) => disks.make(place, bytes, soon()),
  'a mounted disk that something else covers': async (place) => {
    await disks.make(place, bytes, soon());
    await tool('mount', '-t', 'tmpfs', 'none', place.mount);
  },
  'an unmounted disk': async (place) => {
    await disks.make(place, bytes, soon());
    await tool('umount', place.mount);
  },
  'a file without a mount point': async (place) => {
    await disks.make(place, bytes, soon());
    await tool('umount', place.mount);
    await rm(place.mount, { recursive: true });
  },
  'a mounted disk whose file is unlinked': async (place) => {
    await disks.make(place, bytes, soon());
    await rm(place.image);
  },
};

for (const [what, leave] of Object.entries(leftovers)) {
  test(`lists and removes ${what}`, async () => {
    const workspaceId = randomUUID();
    await leave(disks.place(workspaceId));
    const [found] = await disks.list();
    expect(found).toMatchObject({ workspaceId });
    expect(found?.parts).not.toEqual([]);
    await disks.remove(disks.place(workspaceId), soon());
    expect(await disks.list()).toEqual([]);
    await disks.remove(disks.place(workspaceId), soon());
  });
}

test('one that somebody looks into is removed once they have left', async () => {
  const place = await made();
  const script = 'cd "$1" && echo there && read -r _';
  const visitor = spawn('sh', ['-c', script, 'sh', place.files], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const gone = once(visitor, 'exit');
  await once(visitor.stdout, 'data');
  const leave = async (): Promise<void> => {
    await eventually(async () => {
      expect((await diskState(directory)).mounts).toEqual([]);
    });
    expect((await diskState(directory)).loopDevices).toHaveLength(1);
    visitor.stdin.end();
    await gone;
  };
  await Promise.all([disks.remove(place, soon()), leave()]);
});

test('two servers remove the same disk at once', async () => {
  const place = await made();
  await Promise.all([disks.remove(place, soon()), disks.remove(place, soon())]);
});
