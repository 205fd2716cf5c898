import { totalmem } from 'node:os';
import type { Duplex } from 'node:stream';
import type Docker from 'dockerode';
import { freeResources } from '../../base/free-resources.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { ExecProcess, ExecRequest } from '../../domain/exec.ts';
import type {
  CreatedSandbox,
  DestroyOptions,
  FileContent,
  FoundSandbox,
  Leftover,
  ProviderCapabilities,
  ProviderHealth,
  ReadOptions,
  SandboxRef,
  SandboxSpec,
  SandboxStats,
  StartProgress,
  StopOptions,
  WarmSandboxes,
  WorkspaceProvider,
  WriteOptions,
  WrittenFile,
} from '../../domain/provider.ts';
import type { SandboxProcesses } from '../../domain/sandbox-processes.ts';
import type { ContainerEngine, ContainerEngineOptions } from './container-engine.ts';
import type { ContainerProfile } from './container-profile.ts';
import { Containers } from './containers.ts';
import type { OpenDisks } from './disk/open-disks.ts';
import { GuestSandboxes } from './guest-sandboxes.ts';
import { ContainerHealth } from './health.ts';
import { listSandboxes } from './inventory.ts';
import { Lifecycle } from './lifecycle.ts';
import type { WorkspaceNetwork } from './network/workspace-network.ts';
import type { Prepared } from './prepared.ts';
import { RuntimeTrials } from './runtime-trials.ts';
import { SandboxUses } from './stats/sandbox-stats.ts';
import { sweep } from './sweep.ts';
import { WarmContainers } from './warm.ts';

interface ProviderOptions extends ContainerEngineOptions {
  readonly profile: ContainerProfile;
}

/**
 * Workspaces as Docker containers, by the profile under gVisor's runsc or under the engine's own runtime; their
 * files are in the volume agent-workspace-{id}. Providers on the same engine never touch each other's.
 */
export class ContainerProvider implements WorkspaceProvider {
  readonly name: string;
  readonly toolProgram = ['/.emergent/agent', 'tool'] as const;
  readonly processes: SandboxProcesses;
  readonly warm: WarmSandboxes;
  readonly #options: ProviderOptions;
  readonly #docker: Docker;
  readonly #prepared: Prepared;
  readonly #guests: GuestSandboxes;
  readonly #network: WorkspaceNetwork;
  readonly #disks: OpenDisks;
  readonly #lifecycle: Lifecycle;
  readonly #runtime: RuntimeTrials;
  readonly #health: ContainerHealth;
  readonly #uses: SandboxUses;

  /** The engine outlives it, and is disposed of by whoever made it. */
  constructor(engine: ContainerEngine, profile: ContainerProfile) {
    const { docker } = engine;
    const log = engine.options.log.child({ provider: profile.provider });
    const options = { ...engine.options, profile, log };
    const { installationId } = options;
    this.name = profile.provider;
    this.#options = options;
    this.#docker = docker;
    this.#prepared = engine.prepared;
    this.#network = engine.network;
    this.#disks = engine.disks;
    this.#guests = new GuestSandboxes({ docker, ...options });
    this.#runtime = new RuntimeTrials(options);
    const containers = new Containers(docker, installationId);
    this.#lifecycle = new Lifecycle({
      containers,
      disks: this.#disks.disks,
      guests: this.#guests,
      prepared: this.#prepared,
      images: engine.images,
      runtime: this.#runtime,
      defaults: options,
      ...options,
    });
    this.#health = new ContainerHealth({ docker, runtime: this.#runtime, ...options });
    const { disks } = this.#disks;
    this.#uses = new SandboxUses({ docker, containers, disks, guests: this.#guests, ...options });
    this.processes = processesOf(this.#guests);
    const { prepared, images } = engine;
    const { adoptMs } = options;
    this.warm = new WarmContainers({ prepared, images, guests: this.#guests, adoptMs });
  }

  create(
    spec: SandboxSpec,
    signal: AbortSignal,
    onProgress?: (progress: StartProgress) => void,
  ): Promise<CreatedSandbox> {
    return this.#start(spec, signal, (network) =>
      this.#lifecycle.create(spec, network, signal, onProgress),
    );
  }

  destroy(ref: SandboxRef, signal: AbortSignal, options?: DestroyOptions): Promise<void> {
    return this.#lifecycle.destroy(ref, signal, options);
  }

  stop(ref: SandboxRef, signal: AbortSignal, options?: StopOptions): Promise<void> {
    return this.#lifecycle.stop(ref, signal, options);
  }

  resume(
    ref: SandboxRef,
    spec: SandboxSpec,
    signal: AbortSignal,
    onProgress?: (progress: StartProgress) => void,
  ): Promise<CreatedSandbox> {
    return this.#start(spec, signal, async (network) => {
      await network;
      return this.#lifecycle.resume(ref, spec, signal, onProgress);
    });
  }

  exec(ref: SandboxRef, request: ExecRequest, signal: AbortSignal): Promise<ExecProcess> {
    return this.#guests.of(ref).exec(request, signal);
  }

  readFile(
    ref: SandboxRef,
    path: string,
    signal: AbortSignal,
    options?: ReadOptions,
  ): Promise<FileContent> {
    return this.#guests.of(ref).readFile(path, signal, options);
  }

  writeFile(
    ref: SandboxRef,
    path: string,
    content: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
    options?: WriteOptions,
  ): Promise<WrittenFile> {
    return this.#guests.of(ref).writeFile(path, content, signal, options);
  }

  async health(signal: AbortSignal): Promise<ProviderHealth> {
    const health = await this.#health.check(signal);
    if (health.state !== 'healthy') return health;
    const network = await this.#network.facts(signal);
    const disk = this.#disks.facts();
    const idle = this.#guests.idle.facts();
    return { ...health, details: { ...health.details, ...network, ...disk, ...idle } };
  }

  capabilities(): Promise<ProviderCapabilities> {
    const engine = this.#prepared.engine;
    return Promise.resolve({
      isolation: this.#options.profile.isolation,
      features: {
        persistence: true,
        snapshots: false,
        warmPool: true,
        processes: true,
        terminals: true,
        tools: true,
        list: true,
        stats: true,
        tunnels: true,
      },
      requires: ['docker'],
      startupMs: this.#lifecycle.startupTimes.value,
      // An engine elsewhere, or in a virtual machine, has other memory, and does not say how much of it is free.
      available: engine?.memoryBytes === totalmem() ? freeResources(engine.cpus) : null,
    });
  }

  dial(ref: SandboxRef, port: number, signal: AbortSignal): Promise<Duplex> {
    return this.#guests.of(ref).dial(port, signal);
  }

  stats(ref: SandboxRef, signal: AbortSignal): Promise<SandboxStats> {
    return this.#uses.of(ref, signal);
  }

  async list(signal: AbortSignal): Promise<readonly FoundSandbox[]> {
    const { disks } = this.#disks;
    const { installationId } = this.#options;
    const owner = { installationId, provider: this.name };
    const found = await listSandboxes(this.#docker, disks, owner, signal);
    for (const sandbox of found) if (sandbox.state === 'running') this.#guests.idle.seen(sandbox);
    return found;
  }

  async sweep(
    dryRun: boolean,
    signal: AbortSignal,
    minAgeMs?: number,
  ): Promise<readonly Leftover[]> {
    if (!this.#options.profile.sweeps) return [];
    const { agentVolume } = await this.#prepared.get(signal);
    if (!dryRun) await this.#network.sweep(signal);
    const soon = minAgeMs === undefined ? {} : { minAgeMs };
    const { probes: loops } = this.#disks;
    const parts = { docker: this.#docker, agentVolume, loops };
    return sweep({ ...parts, ...this.#options, ...soon }, dryRun, signal);
  }

  /** Sandboxes go on running: whoever has the same installation finds them again. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#uses[Symbol.dispose]();
    this.#guests.closeAll();
    await this.#runtime[Symbol.asyncDispose]();
  }

  async #start(
    spec: SandboxSpec,
    signal: AbortSignal,
    work: (network: Promise<unknown>) => Promise<CreatedSandbox>,
  ): Promise<CreatedSandbox> {
    const { refusal } = this.#options.profile;
    if (!refusal) return this.#network.start(spec, signal, work);
    throw new EmergentError('provider_unavailable', refusal.reason, { hint: refusal.remedy });
  }
}

function processesOf(guests: GuestSandboxes): SandboxProcesses {
  return {
    start: (ref, request, signal) => guests.of(ref).processes.start(request, signal),
    list: (ref, signal) => guests.of(ref).processes.list(signal),
    attach: (ref, id, options, signal) => guests.of(ref).processes.attach(id, options, signal),
    signal: (ref, id, name, signal) => guests.of(ref).processes.signal(id, name, signal),
    input: (ref, id, data, signal) => guests.of(ref).processes.input(id, data, signal),
    closeInput: (ref, id, signal) => guests.of(ref).processes.closeInput(id, signal),
    endAll: (ref, graceMs, signal) => guests.of(ref).endAll(graceMs, signal),
    resize: (ref, id, size, signal) => guests.of(ref).processes.resize(id, size, signal),
  };
}
