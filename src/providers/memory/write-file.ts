import { randomUUID } from 'node:crypto';
import { renameSync, statSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { lstat, mkdir, open, readlink, realpath, rm, stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { basename, dirname, join, posix, relative } from 'node:path';
import { systemCode } from '../../base/system-code.ts';
import { abortReason } from '../../base/clock.ts';
import { untilAborted } from '../../base/until-aborted.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { WriteOptions, WrittenFile } from '../../domain/provider.ts';
import { toFileError } from './file-errors.ts';
import { versionOf } from './file-version.ts';
import { hostPath, realHostAncestor, realHostPath, sandboxPath } from './paths.ts';

/** As many links as the kernel itself follows. */
const maxLinks = 40;

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
  { ifVersion }: WriteOptions = {},
): Promise<WrittenFile> {
  const target = await writableTarget(place.directory, path);
  const staged = join(place.staging, randomUUID());
  try {
    if (ifVersion !== undefined) requireVersion(target.path, ifVersion, path);
    const size = await stage(staged, content, target.existing, signal);
    const created = putInPlace(staged, target.path, ifVersion, path);
    return { path: sandboxPath(path), size, created };
  } catch (error) {
    await rm(staged, { force: true });
    if (signal.aborted) throw abortReason(signal);
    throw toFileError(error, path);
  }
}

/** In one step for all writers of this process: two with the same version cannot both find it in place. */
function putInPlace(
  staged: string,
  target: string,
  ifVersion: string | undefined,
  path: string,
): boolean {
  if (ifVersion !== undefined) requireVersion(target, ifVersion, path);
  const created = versionAt(target) === undefined;
  renameSync(staged, target);
  return created;
}

function requireVersion(file: string, version: string, path: string): void {
  if (versionAt(file) === version) return;
  throw new EmergentError('file_changed', `${path} is not the version that was read`);
}

function versionAt(file: string): string | undefined {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  return found && versionOf(found);
}

/** The real file to replace, with its parents made, and the one whose mode and owner it takes over. */
async function writableTarget(
  directory: string,
  path: string,
  links = 0,
): Promise<{ path: string; existing: Stats | undefined }> {
  if (links > maxLinks) throw new EmergentError('invalid_value', `${path}: too many links`);
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
    return { path: join(parent, basename(named)), existing: undefined };
  }
  // A link is written through, so that it stays a link; where it leads to nothing yet, that is made.
  const next = await danglingTarget(directory, parent, basename(named));
  if (next !== undefined) return writableTarget(directory, next, links + 1);
  const real = await realHostPath(directory, path);
  const found = await stat(real);
  if (found.isDirectory()) throw new EmergentError('is_directory', `${path} is a directory`);
  if (!found.isFile()) throw new EmergentError('invalid_value', `${path} is not a regular file`);
  return { path: real, existing: found };
}

/** Where a link that leads to nothing leads, as the sandbox sees it; undefined for anything else. */
async function danglingTarget(
  directory: string,
  parent: string,
  name: string,
): Promise<string | undefined> {
  const file = join(parent, name);
  try {
    await stat(file);
    return undefined;
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw toFileError(error, name);
  }
  const inside = relative(await realpath(directory), parent);
  return posix.resolve('/workspace', inside, await readlink(file));
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
  existing: Stats | undefined,
  signal: AbortSignal,
): Promise<number> {
  const handle = await open(staged, 'wx', 0o600);
  try {
    if (existing) await keepOwner(handle, existing);
    await handle.chmod((existing?.mode ?? 0o644) & 0o777);
    const size = await copy(handle, content, signal);
    await stamp(handle);
    return size;
  } finally {
    await handle.close();
  }
}

async function keepOwner(handle: FileHandle, { uid, gid }: Stats): Promise<void> {
  const created = await handle.stat();
  if (created.uid !== uid || created.gid !== gid) await handle.chown(uid, gid);
}

let stamps = 0;

/**
 * Keeps files that are written within one tick of the file system's clock apart, should they come to the same inode
 * number and size: by microseconds, far less than a tick, so that the order of files by age stays true.
 */
async function stamp(handle: FileHandle): Promise<void> {
  const { mtimeMs } = await handle.stat();
  const at = mtimeMs / 1000 + (++stamps % 1000) / 1e6;
  await handle.utimes(at, at);
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
