import { reasonOf } from '../../../base/reason.ts';
import { EmergentError } from '../../../domain/errors.ts';
import type { SandboxRef, SandboxSpec } from '../../../domain/provider.ts';
import { volumeName } from '../container-spec.ts';
import type { Volume, Volumes } from '../volumes.ts';
import { quotaVolume } from './disk-mode.ts';
import type { DiskChoice, DiskMode } from './disk-mode.ts';
import type { DiskModes } from './disk-modes.ts';
import type { ForgottenSandboxes } from './forgotten-sandboxes.ts';
import { FurtherVolumes, placeOfVolume } from './further-volumes.ts';
import { DiskInUseError } from './loop-disks.ts';
import type { DiskPlace, DiskUse, FoundDisk, LoopDisks } from './loop-disks.ts';
import { linkVolume, unlinkVolume } from './volume-link.ts';

/** What holds the files of one workspace, and what it may hold. */
export interface GrantedDisk extends DiskChoice {
  readonly bytes: number;
}

/** A volume together with the disk below it, where it has one. */
export interface FilesFound extends Volume {
  /** False: the volume is there, and the disk that it is linked to is not. */
  readonly whole: boolean;
}

export interface WorkspaceDisksParts {
  readonly volumes: Volumes;
  readonly loops: LoopDisks;
  readonly modes: DiskModes;
  readonly forgotten: ForgottenSandboxes;
}

/**
 * The files of workspaces: a named volume each, further ones where the workspace has such and, in mode `loop`, the
 * disk that all of them are linked to. The disk is made before its volumes and removed after them, so a volume means
 * that the disk was once complete.
 */
export class WorkspaceDisks {
  readonly #volumes: Volumes;
  readonly #loops: LoopDisks;
  readonly #modes: DiskModes;
  readonly #forgotten: ForgottenSandboxes;
  readonly #further: FurtherVolumes;

  constructor({ volumes, loops, modes, forgotten }: WorkspaceDisksParts) {
    this.#volumes = volumes;
    this.#loops = loops;
    this.#modes = modes;
    this.#forgotten = forgotten;
    this.#further = new FurtherVolumes(volumes);
  }

  /** How the engine can hold the limit of new workspaces. */
  choose(engineId: string, signal: AbortSignal): Promise<DiskChoice> {
    return this.#modes.choose(engineId, signal);
  }

  async grant(bytes: number, engineId: string, signal: AbortSignal): Promise<GrantedDisk> {
    const choice = await this.choose(engineId, signal);
    const granted = choice.mode === 'loop' ? await this.#loops.granted(bytes) : bytes;
    return { ...choice, bytes: granted };
  }

  async make(
    spec: SandboxSpec,
    provider: string,
    mode: DiskMode,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      await this.#make(spec, provider, mode, signal);
    } catch (error) {
      // What was found to work may have been found long ago.
      if (!signal.aborted) await this.#modes.forget();
      throw error;
    }
  }

  async #make(
    spec: SandboxSpec,
    provider: string,
    mode: DiskMode,
    signal: AbortSignal,
  ): Promise<void> {
    const { diskBytes } = spec.limits;
    if (mode !== 'loop') {
      const options = mode === 'quota' ? quotaVolume(diskBytes) : {};
      await this.#volumes.create(spec, provider, { mode, options });
      await this.#further.ensure(spec, provider, { mode }, signal);
      return;
    }
    const place = this.#loops.place(spec.workspaceId);
    await doing('making the disk', this.#loops.make(place, diskBytes, signal));
    signal.throwIfAborted();
    await this.#createLinked(spec, provider, place, signal);
  }

  async #createLinked(
    spec: SandboxSpec,
    provider: string,
    place: DiskPlace,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#volumes.create(spec, provider, { mode: 'loop', files: place.files });
    const volume = await this.#volumes.find(spec, signal);
    if (volume?.diskFiles !== place.files) {
      const name = volumeName(spec.workspaceId);
      throw new EmergentError('provider_failed', `the volume ${name} was there already`);
    }
    await doing('linking the volume', linkVolume(volume.mountpoint, place.files));
    await this.#linkFurther(spec, provider, place, signal);
  }

  #linkFurther(
    spec: SandboxSpec,
    provider: string,
    place: DiskPlace,
    signal: AbortSignal,
  ): Promise<void> {
    const made = this.#further.ensure(spec, provider, { mode: 'loop', place }, signal);
    return doing('linking the volumes', made);
  }

  /**
   * To be called before a container starts: it would get a new, empty volume in place of one that is missing. Where
   * only the disk is left, as when somebody has pruned the engine's volumes, it gets a volume again;
   * `removeContainer` takes away the container that would hold on to a volume that the engine made up.
   */
  async ready(
    spec: SandboxSpec,
    provider: string,
    removeContainer: () => Promise<void>,
    signal: AbortSignal,
  ): Promise<DiskMode> {
    const volume = await this.#volumes.find(spec, signal);
    if (!volume) {
      const place = await this.#diskLeft(spec);
      await removeContainer();
      return this.#linkAgain(spec, provider, place, signal);
    }
    if (volume.diskMode === 'loop') {
      const place = this.#placeOf(volume);
      await doing('mounting the disk', this.#loops.mount(place));
      await doing('linking the volume', linkVolume(volume.mountpoint, place.files));
      await this.#linkFurther(spec, provider, place, signal);
    } else {
      await this.#further.ensure(spec, provider, { mode: volume.diskMode }, signal);
    }
    return volume.diskMode;
  }

  async #diskLeft({ workspaceId }: SandboxRef): Promise<DiskPlace> {
    const place = this.#loops.place(workspaceId);
    if (await this.#loops.exists(place)) return place;
    throw new EmergentError(
      'files_lost',
      `the files of the workspace are gone: there is no volume ${volumeName(workspaceId)}`,
    );
  }

  async #linkAgain(
    spec: SandboxSpec,
    provider: string,
    place: DiskPlace,
    signal: AbortSignal,
  ): Promise<DiskMode> {
    await doing('mounting the disk', this.#loops.mount(place));
    await this.#volumes.remove(volumeName(spec.workspaceId), signal);
    await this.#createLinked(spec, provider, place, signal);
    return 'loop';
  }

  /** Whatever there is of link, volume, mount, loop device and file, in this order. False: a container still uses it. */
  async remove(ref: SandboxRef, signal: AbortSignal): Promise<boolean> {
    // Only a volume knows the disk of a server that keeps its disks elsewhere; that of /workspace goes last.
    const found = await this.#volumes.of(ref, signal);
    const onDisk = found.volumes.filter(({ diskMode }) => diskMode === 'loop');
    if (!(await doing('removing the volumes', this.#further.remove(ref, found, signal))))
      return false;
    const main = onDisk.find(({ path }) => path === null);
    if (main) await doing('unlinking the volume', unlinkVolume(main.mountpoint));
    if (!(await this.#volumes.remove(volumeName(ref.workspaceId), signal))) return false;
    const own = this.#loops.place(ref.workspaceId);
    const linked = onDisk[0] ? this.#placeOf(onDisk[0]) : own;
    for (const place of linked.image === own.image ? [own] : [linked, own]) {
      await doing('removing the disk', this.#removeDisk(place, ref, signal));
    }
    return true;
  }

  /** The volume is gone, so the engine knows no container that could use the disk. */
  async #removeDisk(place: DiskPlace, ref: SandboxRef, signal: AbortSignal): Promise<void> {
    try {
      await this.#loops.remove(place, signal);
    } catch (error) {
      if (!(error instanceof DiskInUseError)) throw error;
      if (!(await this.#forgotten.end(ref.workspaceId, error.image, signal))) throw error;
      await this.#loops.remove(place, signal);
    }
  }

  /** Those of /workspace and the further ones. */
  async listFiles(signal: AbortSignal): Promise<readonly FilesFound[]> {
    const volumes = await this.#volumes.list(signal);
    return Promise.all(
      volumes.map(async (volume) => {
        const whole =
          volume.diskMode !== 'loop' || (await this.#loops.exists(this.#placeOf(volume)));
        return { ...volume, whole };
      }),
    );
  }

  listDisks(): Promise<readonly FoundDisk[]> {
    return this.#loops.list();
  }

  /** Undefined where the disk is not one of its own, or not mounted. */
  async use(volume: Volume): Promise<DiskUse | undefined> {
    if (volume.diskMode !== 'loop') return undefined;
    return doing('measuring the disk', this.#loops.use(this.#placeOf(volume)));
  }

  #placeOf(volume: Volume): DiskPlace {
    return placeOfVolume(volume) ?? this.#loops.place(volume.workspaceId);
  }
}

/** Failures of the host's file system in our words. */
async function doing<T>(what: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw new EmergentError('provider_failed', `${what}: ${reasonOf(error)}`, { cause: error });
  }
}
