import type { Dirent } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { run } from '../../src/host/run.ts';
import { unlessMissing } from '../../src/providers/gvisor/disk/host-files.ts';

/** What the host holds of the disks in one directory: workspace ids, asked of the kernel. */
export interface HostDisks {
  readonly images: readonly string[];
  readonly mounts: readonly string[];
  readonly devices: readonly string[];
  /** What belongs to no workspace: of probes, which must be gone when nothing runs. */
  readonly others: readonly string[];
}

const probe = /^probe-/;
const umountMs = 20_000;

/** `directory` holds one directory for each installation, and one for probes. */
export async function hostDisks(directory: string): Promise<HostDisks> {
  const images = await imagesIn(directory);
  const mounts = (await mountsIn(directory)).map((point) => basename(point));
  const devices = await devicesIn(directory);
  const ids = (names: readonly string[]): readonly string[] =>
    names.filter((name) => !probe.test(name));
  return {
    images: ids(images),
    mounts: ids(mounts),
    devices: ids(devices),
    others: [...images, ...mounts, ...devices].filter((name) => probe.test(name)),
  };
}

/** For runs that have left some: nothing of this machine stays in use. */
export async function releaseDisks(directory: string): Promise<void> {
  for (const point of await mountsIn(directory)) {
    await run(['umount', '--lazy', point], { timeoutMs: umountMs });
  }
}

async function imagesIn(directory: string): Promise<readonly string[]> {
  const names: string[] = [];
  for (const entry of await entriesOf(directory)) {
    if (!entry.isDirectory()) continue;
    names.push(...(await entriesOf(join(directory, entry.name))).map(({ name }) => name));
  }
  return names.filter((name) => name.endsWith('.img')).map((name) => basename(name, '.img'));
}

/** Of a directory that goes while it is looked at, as one does with its last disk: none. */
async function entriesOf(directory: string): Promise<readonly Dirent[]> {
  return (await unlessMissing(readdir(directory, { withFileTypes: true }))) ?? [];
}

async function mountsIn(directory: string): Promise<readonly string[]> {
  const lines = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n');
  return lines.flatMap((line) => {
    const point = line.split(' ')[4] ?? '';
    return dirname(dirname(dirname(point))) === directory ? [point] : [];
  });
}

/** A device that is let go of goes from the list while it is read. */
async function devicesIn(directory: string): Promise<readonly string[]> {
  const names = (await readdir('/sys/block')).filter((name) => name.startsWith('loop'));
  const files = await Promise.all(
    names.map((name) =>
      readFile(`/sys/block/${name}/loop/backing_file`, 'utf8').catch(() => undefined),
    ),
  );
  return files.flatMap((file) => {
    const image = file?.trimEnd().replace(/ \(deleted\)$/, '');
    return image?.startsWith(`${directory}/`) === true ? [basename(image, '.img')] : [];
  });
}
