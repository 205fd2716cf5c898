import type Docker from 'dockerode';
import { EmergentError } from '../../domain/errors.ts';
import type { SandboxRef, SandboxSpec } from '../../domain/provider.ts';
import {
  furtherVolumeName,
  labels,
  providerOf,
  volumeName,
  workspaceLabels,
} from './container-spec.ts';
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
/** Where a volume besides /workspace lies in the sandbox. */
const pathLabel = 'dev.emergent.path';

export interface Volume extends SandboxRef {
  readonly name: string;
  /** Where in the sandbox it lies; null: it is /workspace, which every sandbox has. */
  readonly path: string | null;
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

export interface WorkspaceVolumes {
  readonly volumes: readonly Volume[];
  /** Also of those without our labels, which the engine has made in place of missing ones. */
  readonly names: readonly string[];
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
  async create(
    spec: SandboxSpec,
    provider: string,
    disk: VolumeDisk,
    path: string | null = null,
  ): Promise<void> {
    await engineCall('creating the volume', quickMs, (abortSignal) =>
      this.#docker.createVolume({
        Name: nameOf(spec, path),
        Labels: {
          ...workspaceLabels(this.#installationId, provider, spec),
          [diskLabels.mode]: disk.mode,
          [diskLabels.bytes]: String(spec.limits.diskBytes),
          ...(disk.files !== undefined && { [diskLabels.files]: disk.files }),
          ...(path !== null && { [pathLabel]: path }),
        },
        DriverOpts: { ...disk.options },
        abortSignal,
      }),
    );
  }

  /** One without our labels was made by the engine in place of one that was missing: it holds nothing. */
  async find(
    ref: SandboxRef,
    signal: AbortSignal,
    path: string | null = null,
  ): Promise<Volume | undefined> {
    const volume = this.#docker.getVolume(nameOf(ref, path));
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
  async remove(name: string, signal: AbortSignal): Promise<boolean> {
    const volume = this.#docker.getVolume(name);
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
    return (await this.#list({ label: [label] }, signal)).flatMap((volume) => this.#read(volume));
  }

  /** All of one workspace, found by their names. */
  async of({ workspaceId }: SandboxRef, signal: AbortSignal): Promise<WorkspaceVolumes> {
    const name = volumeName(workspaceId);
    const named = await this.#list({ name: [name] }, signal);
    return {
      names: named.map(({ Name }) => Name).filter((each) => each.startsWith(name)),
      volumes: named.flatMap((volume) => this.#read(volume)),
    };
  }

  async #list(
    filters: Record<string, string[]>,
    signal: AbortSignal,
  ): Promise<readonly VolumeInfo[]> {
    const listed: unknown = await engineCall(
      'listing volumes',
      listMs,
      (abortSignal) => this.#docker.listVolumes({ filters, abortSignal }),
      signal,
    );
    // The engine sends null where there are none, and answers with a warning in place of what it cannot list.
    const answer = listed as { Volumes: VolumeInfo[] | null; Warnings: string[] | null };
    const [warning] = answer.Warnings ?? [];
    if (warning !== undefined) {
      throw new EmergentError('provider_failed', `listing volumes: ${warning}`);
    }
    return answer.Volumes ?? [];
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
        path: Labels[pathLabel] ?? null,
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

function nameOf({ workspaceId }: SandboxRef, path: string | null): string {
  return path === null ? volumeName(workspaceId) : furtherVolumeName(workspaceId, path);
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
