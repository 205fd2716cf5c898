import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { dataDir } from '../paths.ts';
import { run } from '../run.ts';
import type { Finding } from './check.ts';

/** Whether files in the data directory can share their blocks (FICLONE), by cloning one. */
export async function lookAtReflink(signal: AbortSignal): Promise<Finding> {
  const parent = await existingAncestor(dataDir());
  const directory = await mkdtemp(join(parent, '.emergent-reflink-'));
  try {
    const [from, to] = [join(directory, 'from'), join(directory, 'to')];
    await writeFile(from, Buffer.alloc(4096, 1));
    const copy = await run(['cp', '--reflink=always', from, to], { timeoutMs: 5_000, signal });
    const details = { directory: parent };
    return copy.ok
      ? { state: 'ok', reason: `files in ${parent} are cloned without copying`, details }
      : {
          state: 'missing',
          reason: `the file system of ${parent} has no clones; disks are copied in full`,
          remedy: 'only microVMs gain: put the data directory on XFS (reflink=1) or btrfs',
          details,
        };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** The directory itself, or the nearest above it that exists. */
export async function existingAncestor(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined);
  return found?.isDirectory() || path === dirname(path) ? path : existingAncestor(dirname(path));
}
