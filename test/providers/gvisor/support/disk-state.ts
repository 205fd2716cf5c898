import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../../../../src/host/run.ts';

/** What the host holds of the disks below a directory, told without the code under test. */
export interface DiskState {
  readonly files: readonly string[];
  readonly mounts: readonly string[];
  readonly loopDevices: readonly string[];
}

export const nothing: DiskState = { files: [], mounts: [], loopDevices: [] };

export async function diskState(directory: string): Promise<DiskState> {
  const found = await readdir(directory, { recursive: true, withFileTypes: true });
  const mountinfo = await readFile('/proc/self/mountinfo', 'utf8');
  const points = mountinfo
    .split('\n')
    .flatMap((line) => line.split(' ')[4]?.replaceAll('\\040', ' ') ?? []);
  const { stdout } = await tool('losetup', '--list', '--noheadings', '--output', 'BACK-FILE');
  return {
    files: found
      .filter((entry) => entry.isFile() || entry.parentPath.endsWith('/mnt'))
      // What is known of the engine stays.
      .filter(({ name }) => name !== 'disk-modes.json')
      .map((entry) => join(entry.parentPath, entry.name)),
    mounts: points.filter((point) => point.startsWith(`${directory}/`)),
    loopDevices: stdout.split('\n').filter((line) => line.trim().startsWith(`${directory}/`)),
  };
}

/** A program of the host that must succeed. */
export async function tool(...argv: string[]): Promise<{ readonly stdout: string }> {
  const result = await run(argv, { timeoutMs: 20_000 });
  if (!result.ok) throw new Error(result.failure);
  return result;
}
