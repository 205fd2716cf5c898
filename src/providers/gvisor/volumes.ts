import type Docker from 'dockerode';
import { EmergentError } from '../../domain/errors.ts';
import type { SandboxRef, SandboxSpec } from '../../domain/provider.ts';
import { labels, providerOf, volumeName, workspaceLabels } from './container-spec.ts';
import { diskModes } from './disk/disk-mode.ts';
import type { DiskMode, VolumeOptions } from './disk/disk-mode.ts';
import { engineCall, engineStatus } from './docker.ts';

const quickMs = 10_000;
const removeMs = 30_000;
const listMs = 30_000;

/** How the disk limit of a volume is held: it says so itself, as servers and settings change. */
const diskLabels = {
  mode: 'dev.emergent.disk-mode',
  bytes: 'dev.emergent.disk-bytes',
  files: 'dev.emergent.disk-files',
} as const;

export interface Volume extends SandboxRef {
  readonly name: string;
  /** The provider that it belongs to. */
  readonly provider: string;
  /** Undefined where the engine does not know, as of one whose disk is not mounted. */
  readonly createdAt: Date | undefined;
  readonly diskMode: DiskMode;
  /** Undefined where it does not say. */
  readonly diskBytes: number | undefined;
  /** The directory on the disk that it is linked to; only with a disk of its own. */
  readonly diskFiles: string | undefined;
  /** Where the engine looks for its files. */
  readonly mountpoint: string;
}

/** What a volume is made with to hold its limit. */
export interface VolumeDisk {
  readonly mode: DiskMode;
  readonly options?: VolumeOptions;
  readonly files?: string;
}

/** The engine's operations on the volumes with the files of workspaces, each bounded and idempotent. */
export class Volumes {
  readonly #docker: Docker;
  readonly #installationId: string;

  constructor(docker: Docker, installationId: string) {
    this.#docker = docker;
    this.#installationId = installationId;
  }

  /** Not cut short when the caller goes away: the engine would make it all the same, after our clean-up. */
  async create(spec: SandboxSpec, provider: string, disk: VolumeDisk): Promise<void> {
    await engineCall('creating the volume', quickMs, (abortSignal) =>
      this.#docker.createVolume({
        Name: volumeName(spec.workspaceId),
        Labels: {
          ...workspaceLabels(this.#installationId, provider, spec),
          [diskLabels.mode]: disk.mode,
          [diskLabels.bytes]: String(spec.limits.diskBytes),
          ...(disk.files !== undefined && { [diskLabels.files]: disk.files }),
        },
        DriverOpts: { ...disk.options },
        abortSignal,
      }),
    );
  }

  /** One without our labels was made by the engine in place of one that was missing: it holds nothing. */
  async find(ref: SandboxRef, signal: AbortSignal): Promise<Volume | undefined> {
    const volume = this.#docker.getVolume(volumeName(ref.workspaceId));
    try {
      const found: unknown = await engineCall(
        'looking for the volume',
        quickMs,
        () => volume.inspect(),
        signal,
      );
      return this.#read(found as VolumeInfo)[0];
    } catch (error) {
      if (engineStatus(error) === 404) return undefined;
      throw error;
    }
  }

  /** False: a container still uses it. */
  async remove(ref: SandboxRef, signal: AbortSignal): Promise<boolean> {
    const volume = this.#docker.getVolume(volumeName(ref.workspaceId));
    try {
      await engineCall(
        'removing the volume',
        removeMs,
        (abortSignal): Promise<unknown> => volume.remove({ abortSignal }),
        signal,
      );
    } catch (error) {
      if (engineStatus(error) === 409) return false;
      if (engineStatus(error) !== 404) throw error;
    }
    return true;
  }

  /** All of this installation. */
  async list(signal: AbortSignal): Promise<readonly Volume[]> {
    const label = `${labels.installation}=${this.#installationId}`;
    const listed: unknown = await engineCall(
      'listing volumes',
      listMs,
      (abortSignal) => this.#docker.listVolumes({ filters: { label: [label] }, abortSignal }),
      signal,
    );
    // The engine sends null where there are none, and answers with a warning in place of what it cannot list.
    const answer = listed as { Volumes: VolumeInfo[] | null; Warnings: string[] | null };
    const [warning] = answer.Warnings ?? [];
    if (warning !== undefined) {
      throw new EmergentError('provider_failed', `listing volumes: ${warning}`);
    }
    return (answer.Volumes ?? []).flatMap((volume) => this.#read(volume));
  }

  #read({ Name, Labels, Mountpoint, CreatedAt }: VolumeInfo): readonly Volume[] {
    const workspaceId = Labels?.[labels.workspace];
    if (workspaceId === undefined || Labels?.[labels.installation] !== this.#installationId) {
      return [];
    }
    const bytes = Number(Labels[diskLabels.bytes]);
    return [
      {
        workspaceId,
        name: Name,
        provider: providerOf(Labels),
        sandboxName: Labels[labels.sandbox] ?? Name,
        createdAt: dateOf(CreatedAt),
        diskMode: diskModes.find((mode) => mode === Labels[diskLabels.mode]) ?? 'monitor',
        diskBytes: bytes > 0 ? bytes : undefined,
        diskFiles: Labels[diskLabels.files],
        mountpoint: Mountpoint,
      },
    ];
  }
}

/** The engine sends null where there are none. */
interface VolumeInfo {
  readonly Name: string;
  readonly Labels: Readonly<Record<string, string>> | null;
  readonly Mountpoint: string;
  readonly CreatedAt: string;
}

/** The engine says year 1 where it finds nothing to look at. */
function dateOf(text: string): Date | undefined {
  const date = new Date(text);
  return date.getTime() >= 0 ? date : undefined;
}
