import { freemem } from 'node:os';
import type Docker from 'dockerode';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { ExecProcess, ExecRequest } from '../../domain/exec.ts';
import type {
  CreatedSandbox,
  FileContent,
  FileInfo,
  FoundSandbox,
  Leftover,
  ProviderCapabilities,
  ProviderHealth,
  SandboxProcesses,
  SandboxRef,
  SandboxSpec,
  WorkspaceProvider,
} from '../../domain/provider.ts';
import type { AgentPaths } from './agent-volume.ts';
import { Containers } from './containers.ts';
import { dockerClient } from './docker.ts';
import { GuestSandboxes } from './guest-sandboxes.ts';
import { GvisorHealth } from './health.ts';
import { listSandboxes } from './inventory.ts';
import { Lifecycle } from './lifecycle.ts';
import { Prepared } from './prepared.ts';
import { sweep } from './sweep.ts';
import { Volumes } from './volumes.ts';

export interface GvisorOptions {
  readonly dockerHost: string | undefined;
  readonly installationId: string;
  /** Secret of this installation; each sandbox's access token is derived from it. */
  readonly key: Uint8Array;
  readonly runtime: string;
  /** The image that the health probe starts: the default workspace image. */
  readonly image: string;
  readonly agentPaths: AgentPaths | null;
  /** Empty: the host's own. */
  readonly nameservers: readonly string[];
  readonly clock: Clock;
  readonly log: Log;
}

/** Workspaces as Docker containers under gVisor's runsc; their files are in the volume agent-workspace-{id}. */
export class GvisorProvider implements WorkspaceProvider {
  readonly name = 'gvisor';
  readonly processes: SandboxProcesses;
  readonly #options: GvisorOptions;
  readonly #docker: Docker;
  readonly #prepared: Prepared;
  readonly #guests: GuestSandboxes;
  readonly #lifecycle: Lifecycle;
  readonly #health: GvisorHealth;

  constructor(options: GvisorOptions) {
    const docker = dockerClient(options.dockerHost);
    const { installationId } = options;
    this.#options = options;
    this.#docker = docker;
    this.#prepared = new Prepared({ docker, ...options });
    this.#guests = new GuestSandboxes({ docker, ...options });
    this.#lifecycle = new Lifecycle({
      containers: new Containers(docker, installationId),
      volumes: new Volumes(docker, installationId),
      guests: this.#guests,
      prepared: this.#prepared,
      defaults: options,
      ...options,
    });
    this.#health = new GvisorHealth({
      docker,
      ...options,
      agentVolume: async (signal) => (await this.#prepared.forContainer(signal)).agentVolume,
    });
    this.processes = processesOf(this.#guests);
  }

  create(spec: SandboxSpec, signal: AbortSignal): Promise<CreatedSandbox> {
    return this.#lifecycle.create(spec, signal);
  }

  destroy(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    return this.#lifecycle.destroy(ref, signal);
  }

  stop(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    return this.#lifecycle.stop(ref, signal);
  }

  resume(ref: SandboxRef, spec: SandboxSpec, signal: AbortSignal): Promise<CreatedSandbox> {
    return this.#lifecycle.resume(ref, spec, signal);
  }

  exec(ref: SandboxRef, request: ExecRequest, signal: AbortSignal): Promise<ExecProcess> {
    return this.#guests.of(ref).exec(request, signal);
  }

  readFile(ref: SandboxRef, path: string, signal: AbortSignal): Promise<FileContent> {
    return this.#guests.of(ref).readFile(path, signal);
  }

  writeFile(
    ref: SandboxRef,
    path: string,
    content: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<FileInfo> {
    return this.#guests.of(ref).writeFile(path, content, signal);
  }

  health(signal: AbortSignal): Promise<ProviderHealth> {
    return this.#health.check(signal);
  }

  capabilities(): Promise<ProviderCapabilities> {
    const engine = this.#prepared.engine;
    return Promise.resolve({
      isolation: 'gvisor',
      features: {
        persistence: true,
        snapshots: false,
        warmPool: false,
        processes: true,
        list: true,
      },
      requires: ['docker'],
      startupMs: this.#lifecycle.startupTimes.median,
      available: engine ? { cpu: engine.cpus, memoryBytes: freemem() } : null,
    });
  }

  list(signal: AbortSignal): Promise<readonly FoundSandbox[]> {
    return listSandboxes(this.#docker, this.#options.installationId, signal);
  }

  async sweep(
    dryRun: boolean,
    signal: AbortSignal,
    minAgeMs?: number,
  ): Promise<readonly Leftover[]> {
    const { agentVolume } = await this.#prepared.get(signal);
    const soon = minAgeMs === undefined ? {} : { minAgeMs };
    return sweep({ docker: this.#docker, agentVolume, ...this.#options, ...soon }, dryRun, signal);
  }

  /** Sandboxes go on running: whoever has the same installation finds them again. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#guests.closeAll();
    await this.#prepared[Symbol.asyncDispose]();
  }
}

function processesOf(guests: GuestSandboxes): SandboxProcesses {
  return {
    start: (ref, request, signal) => guests.of(ref).processes.start(request, signal),
    list: (ref, signal) => guests.of(ref).processes.list(signal),
    attach: (ref, id, options, signal) => guests.of(ref).processes.attach(id, options, signal),
    signal: (ref, id, name, signal) => guests.of(ref).processes.signal(id, name, signal),
  };
}
