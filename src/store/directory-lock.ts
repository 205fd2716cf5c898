import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { systemClock } from '../base/clock.ts';
import { EmergentError } from '../domain/errors.ts';

export interface DirectoryLock {
  release(): void;
}

const sqliteBusy = 5;

/**
 * Handles of held locks. A handle that nothing references is closed by the garbage collector, and its lock
 * with it, so a caller that merely forgets its lock would lose it while the database is in use.
 */
const held = new Set<DatabaseSync>();

/**
 * Takes `<directory>/<name>.lock`, or fails naming the process that holds it.
 *
 * The lock is the kernel's, not a file's existence: SQLite's write lock (POSIX advisory locks, which Node does
 * not offer itself) on an empty file. The kernel drops it when the process ends in any way, so a killed server
 * leaves nothing to clean up; it knows processes rather than process ids, so a reused id cannot fool it, nor
 * can a second container that shares the directory and has process ids of its own; and of any number of
 * simultaneous takers exactly one gets it. SQLite keeps account within the process too, so a second opener in
 * the same process is refused. Nothing else may open the lock file: POSIX drops a process's locks when it
 * closes any descriptor of the file.
 */
export async function lockDirectory(directory: string, name: string): Promise<DirectoryLock> {
  const holderFile = join(directory, `${name}.holder`);
  const handle = takeLock(join(directory, `${name}.lock`));
  if (handle === undefined) throw lockedBy(await readHolder(holderFile), directory);
  try {
    writeFileSync(holderFile, JSON.stringify({ pid: process.pid, host: hostname() }));
  } catch (error) {
    handle.close();
    throw error;
  }
  held.add(handle);
  return {
    release() {
      if (!held.delete(handle)) return;
      rmSync(holderFile, { force: true });
      handle.close();
    },
  };
}

function takeLock(path: string): DatabaseSync | undefined {
  const handle = new DatabaseSync(path);
  try {
    // No journal file: one left by a kill would have to be recovered by the next taker. `off` would be
    // ignored, since Node opens databases in SQLite's defensive mode.
    handle.exec('pragma journal_mode = memory; begin immediate');
    return handle;
  } catch (error) {
    handle.close();
    if (error instanceof Error && 'errcode' in error && error.errcode === sqliteBusy)
      return undefined;
    throw error;
  }
}

interface Holder {
  readonly pid: number;
  readonly host: string;
}

/**
 * Only for the message. The holder writes its name just after it has the lock; until then the file is missing
 * or names a dead process, so this looks again for some seconds: a loaded machine may keep the holder from it.
 */
async function readHolder(file: string): Promise<Holder | undefined> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const holder = parseHolder(file);
    if (holder && (holder.host !== hostname() || isAlive(holder.pid))) return holder;
    await systemClock.sleep(25);
  }
  return undefined;
}

function parseHolder(file: string): Holder | undefined {
  try {
    const holder: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (typeof holder !== 'object' || holder === null) return undefined;
    if (!('pid' in holder) || !('host' in holder)) return undefined;
    const { pid, host } = holder;
    return Number.isSafeInteger(pid) && typeof host === 'string'
      ? { pid: Number(pid), host }
      : undefined;
  } catch {
    // Missing or half-written: not written yet.
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

function lockedBy(holder: Holder | undefined, directory: string): EmergentError {
  const who = holder
    ? `process ${String(holder.pid)}${holder.host === hostname() ? '' : ` on ${holder.host}`}`
    : 'another process';
  return new EmergentError('store_unavailable', `${who} is using the database in ${directory}`, {
    hint:
      'Stop that process, or start this one with another EMERGENT_DATA_DIR; ' +
      'to run several servers on one database set DATABASE_URL to a PostgreSQL server.',
    details: { directory, ...(holder ? { pid: holder.pid, host: holder.host } : {}) },
  });
}
