import { createHmac } from 'node:crypto';
import { freemem } from 'node:os';
import type Docker from 'dockerode';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { runSteps } from '../../base/steps.ts';
import type { Step } from '../../base/steps.ts';
import type { ExecProcess, ExecRequest } from '../../domain/exec.ts';
import type {
  CreatedSandbox,
  FileContent,
  FileInfo,
  ProviderCapabilities,
  ProviderHealth,
  SandboxRef,
  SandboxSpec,
  WorkspaceProvider,
} from '../../domain/provider.ts';
import { hashSecret } from '../../domain/token.ts';
import { GuestSandbox } from '../guest/sandbox.ts';
import type { AgentPaths } from './agent-volume.ts';
import { containerOptions } from './container-spec.ts';
import { Containers } from './containers.ts';
import { execDial } from './dial.ts';
import { dockerClient } from './docker.ts';
import type { EngineInfo } from './engine-info.ts';
import { GvisorHealth } from './health.ts';
import { hostNameservers } from './networks.ts';
import { Prepared } from './prepared.ts';
import { StartupTimes } from './startup-times.ts';
import { stepFailure } from './step-failure.ts';

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

const undoDeadlineMs = 30_000;

/** Workspaces as Docker containers under gVisor's runsc; their files are in the volume agent-workspace-{id}. */
export class GvisorProvider implements WorkspaceProvider {
  readonly name = 'gvisor';
  readonly #options: GvisorOptions;
  readonly #docker: Docker;
  readonly #containers: Containers;
  readonly #prepared: Prepared;
  readonly #health: GvisorHealth;
  readonly #sandboxes = new Map<string, GuestSandbox>();
  readonly #startupTimes = new StartupTimes();

  constructor(options: GvisorOptions) {
    this.#options = options;
    this.#docker = dockerClient(options.dockerHost);
    this.#containers = new Containers(this.#docker, options.installationId);
    this.#prepared = new Prepared({ docker: this.#docker, ...options });
    this.#health = new GvisorHealth({
      docker: this.#docker,
      ...options,
      agentVolume: async (signal) => (await this.#prepared.get(signal)).agentVolume,
    });
  }

  create(spec: SandboxSpec, signal: AbortSignal): Promise<CreatedSandbox> {
    const volume: Step = {
      name: 'volume',
      run: async () => {
        signal.throwIfAborted();
        await this.#containers.createVolume(spec);
        return () => this.#containers.removeVolume(spec, AbortSignal.timeout(undoDeadlineMs));
      },
    };
    return this.#start(spec, [volume], signal);
  }

  async destroy(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    this.#close(ref);
    await this.#containers.remove(ref.sandboxName, signal);
    await this.#containers.removeVolume(ref, signal);
  }

  async stop(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    this.#close(ref);
    await this.#containers.stop(ref.sandboxName, signal);
  }

  /** In a new container on the same volume. */
  async resume(ref: SandboxRef, spec: SandboxSpec, signal: AbortSignal): Promise<CreatedSandbox> {
    this.#close(ref);
    await this.#containers.remove(ref.sandboxName, signal);
    return this.#start(spec, [], signal);
  }

  exec(ref: SandboxRef, request: ExecRequest, signal: AbortSignal): Promise<ExecProcess> {
    return this.#sandbox(ref).exec(request, signal);
  }

  readFile(ref: SandboxRef, path: string, signal: AbortSignal): Promise<FileContent> {
    return this.#sandbox(ref).readFile(path, signal);
  }

  writeFile(
    ref: SandboxRef,
    path: string,
    content: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<FileInfo> {
    return this.#sandbox(ref).writeFile(path, content, signal);
  }

  health(signal: AbortSignal): Promise<ProviderHealth> {
    return this.#health.check(signal);
  }

  capabilities(): Promise<ProviderCapabilities> {
    const engine = this.#prepared.engine;
    return Promise.resolve({
      isolation: 'gvisor',
      features: { persistence: true, snapshots: false, warmPool: false },
      requires: ['docker'],
      startupMs: this.#startupTimes.median,
      available: engine ? { cpu: engine.cpus, memoryBytes: freemem() } : null,
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    for (const sandbox of this.#sandboxes.values()) sandbox.close();
    this.#sandboxes.clear();
    return Promise.resolve();
  }

  async #start(
    spec: SandboxSpec,
    before: readonly Step[],
    signal: AbortSignal,
  ): Promise<CreatedSandbox> {
    const { clock } = this.#options;
    const startedAt = clock.monotonic();
    const { engine } = await this.#prepared.get(signal);
    const granted = clampToEngine(spec, engine);
    try {
      const steps = await runSteps([...before, ...this.#containerSteps(granted, signal)], clock);
      this.#startupTimes.add(Math.round(clock.monotonic() - startedAt));
      return {
        limits: granted.limits,
        metadata: { isolation: 'gvisor', disk_mode: 'unenforced', start_steps_ms: steps },
      };
    } catch (error) {
      this.#prepared.forget();
      throw stepFailure(error);
    }
  }

  #containerSteps(spec: SandboxSpec, signal: AbortSignal): readonly Step[] {
    return [
      {
        name: 'container',
        run: async () => {
          const options = await this.#containerOptions(spec, signal);
          signal.throwIfAborted();
          await this.#containers.create(options);
          return () =>
            this.#containers.remove(spec.sandboxName, AbortSignal.timeout(undoDeadlineMs));
        },
      },
      {
        name: 'start',
        run: async () => {
          await this.#containers.start(spec.sandboxName, signal);
          return undefined;
        },
      },
      {
        name: 'agent',
        run: async () => {
          await this.#sandbox(spec).ready(signal);
          return undefined;
        },
      },
    ];
  }

  async #containerOptions(
    spec: SandboxSpec,
    signal: AbortSignal,
  ): Promise<Docker.ContainerCreateOptions> {
    const { nameservers } = this.#options;
    return containerOptions(
      spec,
      {
        ...this.#options,
        ...(await this.#prepared.get(signal)),
        nameservers: nameservers.length > 0 ? nameservers : await hostNameservers(),
      },
      hashSecret(this.#accessToken(spec.workspaceId)),
    );
  }

  /** Derived, so a restarted server reaches every sandbox without having stored a secret. */
  #accessToken(workspaceId: string): string {
    return createHmac('sha256', this.#options.key).update(workspaceId).digest('hex');
  }

  #sandbox(ref: SandboxRef): GuestSandbox {
    const known = this.#sandboxes.get(ref.sandboxName);
    if (known) return known;
    const sandbox = new GuestSandbox({
      dial: execDial(this.#docker, ref.sandboxName),
      token: this.#accessToken(ref.workspaceId),
      clock: this.#options.clock,
    });
    this.#sandboxes.set(ref.sandboxName, sandbox);
    return sandbox;
  }

  #close(ref: SandboxRef): void {
    this.#sandboxes.get(ref.sandboxName)?.close();
    this.#sandboxes.delete(ref.sandboxName);
  }
}

/** An engine refuses more CPUs than it has; what was granted is reported. */
function clampToEngine(spec: SandboxSpec, engine: EngineInfo): SandboxSpec {
  return { ...spec, limits: { ...spec.limits, cpu: Math.min(spec.limits.cpu, engine.cpus) } };
}
