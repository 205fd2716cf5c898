import { readFile, readdir } from 'node:fs/promises';
import { unlessMissing } from './host-files.ts';

export interface LoopMount {
  readonly point: string;
  readonly device: string;
  /** The file behind the device; undefined where it is none of a file. */
  readonly image: string | undefined;
}

/** What is mounted at or below a directory, the oldest first: later ones cover earlier ones. */
export async function mountsUnder(directory: string): Promise<readonly LoopMount[]> {
  const found: LoopMount[] = [];
  for (const line of (await readFile('/proc/self/mountinfo', 'utf8')).split('\n')) {
    const [left = '', right = ''] = line.split(' - ');
    const [, , numbers = '', , escaped = ''] = left.split(' ');
    const point = unescaped(escaped);
    if (point !== directory && !point.startsWith(`${directory}/`)) continue;
    const image = await backingFile(`/sys/dev/block/${numbers}`);
    found.push({ point, device: right.split(' ')[1] ?? '', image });
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
