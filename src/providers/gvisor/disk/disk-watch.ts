import type Docker from 'dockerode';
import type { Clock } from '../../../base/clock.ts';
import type { Log } from '../../../base/log.ts';
import { Troubles } from '../../../base/troubles.ts';
import type { SandboxIncident } from '../../../domain/provider.ts';
import type { Volume } from '../volumes.ts';
import type { DiskUse } from './loop-disks.ts';
import { volumeSizes } from './volume-sizes.ts';
import type { WorkspaceDisks } from './workspace-disks.ts';

export const watchEveryMs = 60_000;
const nearly = 0.9;
/** Of a disk of its own: its last blocks are too few for anything. */
const enforcedFull = 0.99;
/** Below it, the next time is told again. */
const calm = 0.85;

export interface DiskWatchOptions {
  readonly docker: Docker;
  readonly disks: WorkspaceDisks;
  readonly clock: Clock;
  readonly log: Log;
  readonly onIncident: (incident: SandboxIncident) => void;
}

/** `none` -> `nearly` at 90 % -> `full`; each is told once, until use falls below 85 % again. */
type Told = 'none' | 'nearly' | 'full';

/** Looks how full the disks of workspaces are, and tells of those that are nearly full, and of those that are. */
export class DiskWatch {
  readonly #options: DiskWatchOptions;
  readonly #troubles: Troubles;
  readonly #told = new Map<string, Told>();

  constructor(options: DiskWatchOptions) {
    this.#options = options;
    this.#troubles = new Troubles(options.log);
  }

  /** One look at all of them. It never fails: what it cannot see now, it sees the next time. */
  async look(signal: AbortSignal): Promise<void> {
    try {
      await this.#look(signal);
      this.#troubles.over('look', 'the disks of workspaces can be measured again');
    } catch (error) {
      if (signal.aborted) return;
      this.#troubles.note('look', 'the disks of workspaces cannot be measured', error);
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { docker, disks } = this.#options;
    const volumes = await disks.listFiles(signal);
    const measured = volumes.some(({ diskMode }) => diskMode === 'monitor')
      ? await volumeSizes(docker, signal)
      : new Map<string, number>();
    for (const volume of volumes) {
      // The others count with that of /workspace.
      if (volume.path !== null) continue;
      const usedBytes = together(volume, volumes, measured);
      const limitBytes = volume.diskBytes;
      const byEngine =
        usedBytes === undefined || limitBytes === undefined ? undefined : { usedBytes, limitBytes };
      const use = volume.diskMode === 'monitor' ? byEngine : await disks.use(volume);
      if (use) this.#judge(volume, use);
    }
    const there = new Set(volumes.map(({ workspaceId }) => workspaceId));
    for (const id of this.#told.keys()) if (!there.has(id)) this.#told.delete(id);
  }

  #judge({ workspaceId, diskMode }: Volume, { usedBytes, limitBytes }: DiskUse): void {
    const part = usedBytes / limitBytes;
    const told = this.#told.get(workspaceId) ?? 'none';
    if (part < calm) this.#told.delete(workspaceId);
    const enforced = diskMode !== 'monitor';
    const now = part >= (enforced ? enforcedFull : 1) ? 'full' : 'nearly';
    if (part < nearly || told === now || told === 'full') return;
    this.#told.set(workspaceId, now);
    const { clock, log, onIncident } = this.#options;
    const detail = {
      used_bytes: usedBytes,
      limit_bytes: limitBytes,
      percent: Math.floor(part * 100),
      disk_mode: diskMode,
      enforced: enforced ? 'yes' : 'no',
    };
    if (now === 'full' && !enforced) {
      log.warn('a workspace is over its disk limit, which is not enforced here', {
        workspace: workspaceId,
        ...detail,
      });
    }
    onIncident({ workspaceId, kind: 'disk_nearly_full', at: clock.now(), detail });
  }
}

/** Undefined where that of /workspace was not measured. */
function together(
  { name, workspaceId }: Volume,
  all: readonly Volume[],
  measured: ReadonlyMap<string, number>,
): number | undefined {
  if (!measured.has(name)) return undefined;
  const own = all.filter((volume) => volume.workspaceId === workspaceId);
  return own.reduce((sum, volume) => sum + (measured.get(volume.name) ?? 0), 0);
}
