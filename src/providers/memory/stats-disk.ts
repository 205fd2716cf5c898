import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCode } from '../../base/system-code.ts';

/** Beyond it the answer would take longer than it is worth. */
const maxEntries = 100_000;
const blockBytes = 512;

/** What the files below a directory take on the disk; null where there are too many to tell, or no directory. */
export async function bytesIn(directory: string, signal: AbortSignal): Promise<number | null> {
  const counted = new Set<string>();
  const pending = [directory];
  let bytes = 0;
  let entries = 0;
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    signal.throwIfAborted();
    for (const { name, isDirectory } of await entriesOf(next)) {
      if (++entries > maxEntries) return null;
      const path = join(next, name);
      const found = await unlessGone(lstat(path));
      // One with several names is there once.
      const key = `${String(found?.dev)}:${String(found?.ino)}`;
      if (!found || counted.has(key)) continue;
      if (found.nlink > 1 && !isDirectory) counted.add(key);
      bytes += found.blocks * blockBytes;
      if (isDirectory) pending.push(path);
    }
  }
  return entries === 0 && !(await unlessGone(lstat(directory))) ? null : bytes;
}

interface Entry {
  readonly name: string;
  readonly isDirectory: boolean;
}

async function entriesOf(directory: string): Promise<readonly Entry[]> {
  const found: Entry[] = [];
  const opened = await unlessGone(opendir(directory));
  if (!opened) return found;
  for await (const entry of opened) {
    found.push({ name: entry.name, isDirectory: entry.isDirectory() });
    if (found.length > maxEntries) break;
  }
  return found;
}

/** Commands go on meanwhile, and may take away what was listed. */
async function unlessGone<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes(systemCode(error))) return undefined;
    throw error;
  }
}
