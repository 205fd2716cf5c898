import { join } from 'node:path';
import type Docker from 'dockerode';
import type { Clock } from '../../../base/clock.ts';
import type { Log } from '../../../base/log.ts';
import { startLoop } from '../../../base/loop.ts';
import type { SandboxIncident } from '../../../domain/provider.ts';
import type { HostRun } from '../host-run.ts';
import { Volumes } from '../volumes.ts';
import type { DiskModeSetting } from './disk-mode.ts';
import { DiskModes } from './disk-modes.ts';
import { DiskWatch, watchEveryMs } from './disk-watch.ts';
import { ForgottenSandboxes } from './forgotten-sandboxes.ts';
import { KnownModes } from './known-modes.ts';
import { LoopDisks } from './loop-disks.ts';
import { WorkspaceDisks } from './workspace-disks.ts';

export interface DiskOptions {
  readonly docker: Docker;
  readonly dockerHost: string | undefined;
  readonly installationId: string;
  readonly image: string;
  /** Where disks are kept; those of each installation in a directory of its own. */
  readonly diskDir: string;
  readonly diskMode: DiskModeSetting;
  /** How programs of this host are run. */
  readonly hostRun: HostRun;
  readonly onIncident: (incident: SandboxIncident) => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** The disks of one installation on one engine, watched until disposed of. */
export interface OpenDisks extends AsyncDisposable {
  readonly disks: WorkspaceDisks;
  readonly probes: LoopDisks;
  /** For people who look at the provider's health: what is known by now, as trying it takes longer than they wait. */
  facts(): Readonly<Record<string, string>>;
}

export function openDisks(options: DiskOptions): OpenDisks {
  const { docker, installationId, hostRun, clock, log } = options;
  const loops = new LoopDisks(join(options.diskDir, installationId), clock, hostRun);
  // Shared by all installations: any server sweeps what a killed one left of a probe.
  const probes = new LoopDisks(join(options.diskDir, 'probes'), clock, hostRun);
  const setting = options.diskMode;
  const remembered = new KnownModes(options.diskDir, setting, log);
  const modes = new DiskModes({ ...options, setting, disks: probes, remembered });
  const volumes = new Volumes(docker, installationId);
  const forgotten = new ForgottenSandboxes({ docker, clock, log });
  const disks = new WorkspaceDisks({ volumes, loops, modes, forgotten });
  const watch = new DiskWatch({ ...options, disks });
  const loop = startLoop(
    watchEveryMs,
    (signal) => watch.look(signal),
    clock,
    (error) => {
      log.error('the disks of workspaces are no longer watched', { err: error });
    },
  );
  return {
    disks,
    probes,
    facts() {
      const { mode, reason } = modes.known ?? {};
      return {
        ...(mode !== undefined && { disk_mode: mode }),
        ...(reason !== undefined && { disk_mode_reason: reason }),
      };
    },
    async [Symbol.asyncDispose]() {
      loop[Symbol.dispose]();
      await modes.settled();
    },
  };
}
