import type Docker from 'dockerode';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { AgentPaths } from './agent-volume.ts';
import { openDisks } from './disk/open-disks.ts';
import type { DiskOptions, OpenDisks } from './disk/open-disks.ts';
import { dockerClient } from './docker.ts';
import { Images } from './images/images.ts';
import type { ImagesOptions } from './images/images.ts';
import type { HostNetwork } from './network/host-network.ts';
import { WorkspaceNetwork } from './network/workspace-network.ts';
import { Prepared } from './prepared.ts';
import type { TryRuntime } from './runtime-trials.ts';
import type { WarmContainersOptions } from './warm.ts';

export interface ContainerEngineOptions
  extends
    Pick<DiskOptions, 'diskDir' | 'diskMode' | 'hostRun' | 'onIncident'>,
    Pick<ImagesOptions, 'pullLimits'>,
    Pick<WarmContainersOptions, 'adoptMs'> {
  readonly dockerHost: string | undefined;
  readonly installationId: string;
  /** Secret of this installation; each sandbox's access token is derived from it. */
  readonly key: Uint8Array;
  /** The one that set-up builds: helper containers are made from it. */
  readonly image: string;
  readonly agentPaths: AgentPaths | null;
  /** Empty: the host's own. */
  readonly nameservers: readonly string[];
  /** For the host's rules that keep workspaces from it. */
  readonly hostNetwork: HostNetwork;
  /** Lets workspaces have network `nat` where such rules cannot be set. */
  readonly allowUnfilteredNetwork: boolean;
  /** How a runtime is tried on this engine. */
  readonly tryRuntime: TryRuntime;
  /** How long nobody must have used a workspace before it is frozen; null: none is ever frozen. */
  readonly idleFreezeMs: number | null;
  readonly clock: Clock;
  readonly log: Log;
}

/** One Docker engine with what its providers share: the agent's volume, the images, the network, the disks. */
export class ContainerEngine implements AsyncDisposable {
  readonly options: ContainerEngineOptions;
  readonly docker: Docker;
  readonly prepared: Prepared;
  readonly images: Images;
  readonly network: WorkspaceNetwork;
  readonly disks: OpenDisks;

  constructor(options: ContainerEngineOptions) {
    const docker = dockerClient(options.dockerHost);
    this.options = options;
    this.docker = docker;
    this.prepared = new Prepared({ docker, ...options });
    this.images = new Images({ docker, ...options });
    this.network = new WorkspaceNetwork({ docker, ...options });
    this.disks = openDisks({ docker, ...options });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.disks[Symbol.asyncDispose]();
    await this.prepared[Symbol.asyncDispose]();
  }
}
