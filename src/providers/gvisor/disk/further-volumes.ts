import { chmod, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { systemCode } from '../../../base/system-code.ts';
import { EmergentError } from '../../../domain/errors.ts';
import type { SandboxRef, SandboxSpec } from '../../../domain/provider.ts';
import { volumeKey, volumeName } from '../container-spec.ts';
import type { Volume, Volumes, WorkspaceVolumes } from '../volumes.ts';
import { quotaVolume } from './disk-mode.ts';
import type { DiskMode } from './disk-mode.ts';
import { filesName, placeOfFiles } from './loop-disks.ts';
import type { DiskPlace } from './loop-disks.ts';
import { linkVolume, unlinkVolume } from './volume-link.ts';

/** The directory of a disk that has the volumes besides /workspace, each by its key. */
const volumesName = 'volumes';

/** What the volumes of a workspace lie on. */
export interface FurtherDisk {
  readonly mode: DiskMode;
  /** Of a disk of its own, which is mounted: they share it with /workspace, and so its limit. */
  readonly place?: DiskPlace;
}

/** The volumes of a workspace besides that of /workspace, with the same life. */
export class FurtherVolumes {
  readonly #volumes: Volumes;

  constructor(volumes: Volumes) {
    this.#volumes = volumes;
  }

  /** Makes those that are missing. What their place on the disk holds stays, and is theirs again. */
  async ensure(
    spec: SandboxSpec,
    provider: string,
    disk: FurtherDisk,
    signal: AbortSignal,
  ): Promise<void> {
    for (const path of spec.volumes ?? []) {
      signal.throwIfAborted();
      if (disk.place) await this.#ensureOnDisk(spec, provider, path, disk.place, signal);
      else await this.#ensurePlain(spec, provider, path, disk.mode);
    }
  }

  /** False: a container still uses one. */
  async remove(
    { workspaceId }: SandboxRef,
    { volumes, names }: WorkspaceVolumes,
    signal: AbortSignal,
  ): Promise<boolean> {
    for (const name of names) {
      if (name === volumeName(workspaceId)) continue;
      const volume = volumes.find((each) => each.name === name);
      if (volume?.diskMode === 'loop') await unlinkVolume(volume.mountpoint);
      if (!(await this.#volumes.remove(name, signal))) return false;
    }
    return true;
  }

  async #ensurePlain(
    spec: SandboxSpec,
    provider: string,
    path: string,
    mode: DiskMode,
  ): Promise<void> {
    const options = mode === 'quota' ? quotaVolume(spec.limits.diskBytes) : {};
    await this.#volumes.create(spec, provider, { mode, options }, path);
  }

  async #ensureOnDisk(
    spec: SandboxSpec,
    provider: string,
    path: string,
    { mount }: DiskPlace,
    signal: AbortSignal,
  ): Promise<void> {
    const files = join(mount, volumesName, volumeKey(path));
    await makeDirectory(dirname(files), 0o700);
    await makeDirectory(files, 0o755);
    await this.#volumes.create(spec, provider, { mode: 'loop', files }, path);
    const volume = await this.#volumes.find(spec, signal, path);
    if (volume?.diskFiles !== files) {
      throw new EmergentError('provider_failed', `the volume of ${path} was there already`);
    }
    await linkVolume(volume.mountpoint, files);
  }
}

/** The disk that a volume lies on, wherever the server that made it keeps its disks. */
export function placeOfVolume({ path, diskFiles }: Volume): DiskPlace | undefined {
  if (diskFiles === undefined) return undefined;
  return placeOfFiles(path === null ? diskFiles : join(dirname(dirname(diskFiles)), filesName));
}

/** One that is there stays as it is. */
async function makeDirectory(directory: string, mode: number): Promise<void> {
  try {
    await mkdir(directory);
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return;
    throw error;
  }
  // Not by mkdir's own mode: that is subject to the umask.
  await chmod(directory, mode);
}
