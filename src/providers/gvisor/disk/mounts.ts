import { readFile, readdir } from 'node:fs/promises';
import { basename } from 'node:path';
import { unlessMissing } from './host-files.ts';

export interface LoopMount {
  readonly point: string;
  readonly device: string;
  /** The file behind the device; undefined where it is none of a file. */
  readonly image: string | undefined;
}

/** A line of a process's mountinfo. */
export interface MountEntry {
  /** The device's two numbers, as "7:12". */
  readonly numbers: string;
  /** The directory or file of the device that is seen. */
  readonly root: string;
  readonly point: string;
  readonly device: string;
}

export function mountEntries(mountinfo: string): readonly MountEntry[] {
  return mountinfo.split('\n').flatMap((line): MountEntry[] => {
    const [left = '', right = ''] = line.split(' - ');
    const [, , numbers, root, point] = left.split(' ');
    if (numbers === undefined || root === undefined || point === undefined) return [];
    const device = right.split(' ')[1] ?? '';
    return [{ numbers, root: unescaped(root), point: unescaped(point), device }];
  });
}

/** What is mounted at or below a directory, the oldest first: later ones cover earlier ones. */
export async function mountsUnder(directory: string): Promise<readonly LoopMount[]> {
  const found: LoopMount[] = [];
  for (const entry of mountEntries(await readFile('/proc/self/mountinfo', 'utf8'))) {
    const { numbers, point, device } = entry;
    if (point !== directory && !point.startsWith(`${directory}/`)) continue;
    found.push({ point, device, image: await backingFile(`/sys/dev/block/${numbers}`) });
  }
  return found;
}

/** The loop devices that hold a file, also one that was unlinked meanwhile. */
export async function loopDevicesOf(image: string): Promise<readonly string[]> {
  const names = (await readdir('/sys/block')).filter((name) => /^loop\d+$/.test(name));
  const held = await Promise.all(
    names.map(async (name) => ((await backingFile(`/sys/block/${name}`)) === image ? [name] : [])),
  );
  return held.flat().map((name) => `/dev/${name}`);
}

/** The numbers of those devices; of none that was let go of between two looks. */
export async function loopNumbersOf(image: string): Promise<readonly string[]> {
  const numbers = await Promise.all(
    (await loopDevicesOf(image)).map((device) =>
      unlessMissing(readFile(`/sys/block/${basename(device)}/dev`, 'utf8')),
    ),
  );
  return numbers.flatMap((text) => text?.trim() ?? []);
}

/** Undefined for one that is no loop device, or was let go of between two looks. */
async function backingFile(block: string): Promise<string | undefined> {
  const text = await unlessMissing(readFile(`${block}/loop/backing_file`, 'utf8'));
  return text?.replace(/\n$/, '').replace(/ \(deleted\)$/, '');
}

/** The kernel writes white space and backslashes in paths as octal numbers. */
function unescaped(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );
}
