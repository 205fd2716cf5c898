import { lstat, readlink, rmdir, symlink, unlink } from 'node:fs/promises';
import { systemCode } from '../../../base/system-code.ts';
import { EmergentError } from '../../../domain/errors.ts';
import { unlessMissing } from './host-files.ts';

/**
 * Makes the directory that the engine keeps for a volume (its mount point) a link to the files of a disk.
 *
 * The engine could bind them itself, by options of the volume. But it counts who uses a volume that it has mounted,
 * forgets the count when it restarts under running containers (live-restore), and then refuses to remove the
 * volume until it is restarted once more. Of a volume without options it counts nothing.
 *
 * While the disk is not mounted the link leads nowhere, so the engine fails to start the container: it would bind
 * an empty mount point, a directory without any limit. And while it is mounted, the engine refuses to remove the
 * volume behind our back: what is linked lies outside of its own directory.
 */
export async function linkVolume(mountpoint: string, files: string): Promise<void> {
  if ((await linkOf(mountpoint)) === files) return;
  const found = await unlessMissing(lstat(mountpoint));
  if (found?.isSymbolicLink() === true) await unlessMissing(unlink(mountpoint));
  else if (found) await removeUnused(mountpoint);
  try {
    await symlink(files, mountpoint);
  } catch (error) {
    // Another server was faster.
    if ((await linkOf(mountpoint)) !== files) throw error;
  }
}

/** To be called before the volume is removed. */
export async function unlinkVolume(mountpoint: string): Promise<void> {
  if ((await linkOf(mountpoint)) !== undefined) await unlessMissing(unlink(mountpoint));
}

async function linkOf(path: string): Promise<string | undefined> {
  try {
    return await unlessMissing(readlink(path));
  } catch (error) {
    if (systemCode(error) === 'EINVAL') return undefined;
    throw error;
  }
}

async function removeUnused(directory: string): Promise<void> {
  try {
    await unlessMissing(rmdir(directory));
  } catch (error) {
    if (systemCode(error) !== 'ENOTEMPTY') throw error;
    throw new EmergentError(
      'provider_failed',
      `${directory} holds files that are not on the disk of the workspace`,
      { cause: error },
    );
  }
}
