import { readdir, realpath, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { systemCode } from '../../../base/system-code.ts';

const missingCodes: readonly string[] = ['ENOENT', 'ENOTDIR', 'ENXIO', 'ENODEV'];

/** Whether a file or device was not there. */
export function isMissing(error: unknown): boolean {
  return missingCodes.includes(systemCode(error));
}

/** The path as the kernel names it; its last parts may not be there. */
export async function resolvedPath(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (!isMissing(error) || path === dirname(path)) throw error;
    return join(await resolvedPath(dirname(path)), path.slice(dirname(path).length));
  }
}

/** When it was made, as far as the file system tells; undefined where nothing is. */
export async function madeAt(path: string): Promise<Date | undefined> {
  const found = await unlessMissing(stat(path));
  return found && (found.birthtimeMs > 0 ? found.birthtime : found.ctime);
}

/** A directory that holds something stays. */
export async function removeEmpty(directory: string): Promise<void> {
  try {
    await unlessMissing(rmdir(directory));
  } catch (error) {
    if (systemCode(error) !== 'ENOTEMPTY') throw error;
  }
}

export async function entriesOf(directory: string): Promise<readonly string[]> {
  return (await unlessMissing(readdir(directory))) ?? [];
}

/** Undefined where what it is about is not there. */
export async function unlessMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
