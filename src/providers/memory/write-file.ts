import { randomUUID } from 'node:crypto';
import { lstat, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { basename, dirname, join, posix } from 'node:path';
import { abortReason } from '../../base/clock.ts';
import { untilAborted } from '../../base/until-aborted.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { FileInfo } from '../../domain/provider.ts';
import { systemCode, toFileError } from './file-errors.ts';
import { hostPath, realHostAncestor, realHostPath, sandboxPath } from './paths.ts';

export interface WritePlace {
  /** The sandbox's /workspace on the host. */
  readonly directory: string;
  /** Where unfinished files lie: on the same filesystem, invisible to the sandbox. */
  readonly staging: string;
}

/** Writes beside the target and renames over it, so that readers see the old file or the new one. */
export async function writeSandboxFile(
  place: WritePlace,
  path: string,
  content: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<FileInfo> {
  const target = await writableTarget(place.directory, path);
  const staged = join(place.staging, randomUUID());
  try {
    const size = await stage(staged, content, target.mode, signal);
    await rename(staged, target.path);
    return { path: sandboxPath(path), size };
  } catch (error) {
    await rm(staged, { force: true });
    if (signal.aborted) throw abortReason(signal);
    throw toFileError(error, path);
  }
}

/** The real file to replace, with its parents made, and the mode that the new one takes over. */
async function writableTarget(
  directory: string,
  path: string,
): Promise<{ path: string; mode: number }> {
  const named = hostPath(directory, path);
  if (named === directory || path.endsWith('/')) {
    throw new EmergentError('is_directory', `${path} is a directory`);
  }
  // Before anything is made: a linked parent must not lead out of the sandbox.
  await realHostAncestor(directory, path);
  try {
    await mkdir(dirname(named), { recursive: true });
  } catch (error) {
    if (['ENOTDIR', 'EEXIST'].includes(systemCode(error))) {
      throw new EmergentError('invalid_value', `${path}: a parent is not a directory`);
    }
    throw toFileError(error, path);
  }
  const parent = await realHostPath(directory, posix.dirname(sandboxPath(path)));
  if (!(await exists(join(parent, basename(named)), path))) {
    return { path: join(parent, basename(named)), mode: 0o644 };
  }
  // A link is written through, so that it stays a link.
  const real = await realHostPath(directory, path);
  const found = await stat(real);
  if (found.isDirectory()) throw new EmergentError('is_directory', `${path} is a directory`);
  if (!found.isFile()) throw new EmergentError('invalid_value', `${path} is not a regular file`);
  return { path: real, mode: found.mode & 0o777 };
}

async function exists(file: string, path: string): Promise<boolean> {
  try {
    await lstat(file);
    return true;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return false;
    throw toFileError(error, path);
  }
}

async function stage(
  staged: string,
  content: AsyncIterable<Uint8Array>,
  mode: number,
  signal: AbortSignal,
): Promise<number> {
  const handle = await open(staged, 'wx', mode);
  try {
    await handle.chmod(mode);
    return await copy(handle, content, signal);
  } finally {
    await handle.close();
  }
}

/** Content that never comes does not hold up an abort: each chunk is awaited together with the signal. */
async function copy(
  handle: FileHandle,
  content: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<number> {
  const chunks = content[Symbol.asyncIterator]();
  let size = 0;
  try {
    for (;;) {
      const chunk = await untilAborted(chunks.next(), signal);
      if (chunk.done === true) return size;
      await handle.writeFile(chunk.value);
      size += chunk.value.length;
    }
  } catch (error) {
    chunks.return?.().catch(() => undefined);
    throw error;
  }
}
