import { abortReason } from '../../base/clock.ts';
import type { Clock } from '../../base/clock.ts';
import { withDeadline } from '../../base/deadline.ts';
import type { Log } from '../../base/log.ts';
import { reasonOf } from '../../base/reason.ts';
import { RecentMedian } from '../../base/recent-median.ts';
import { runSteps } from '../../base/steps.ts';
import { EmergentError } from '../../domain/errors.ts';
import { terminateGraceMs } from '../../domain/provider.ts';
import type {
  CreatedSandbox,
  DestroyOptions,
  SandboxRef,
  SandboxSpec,
  StopOptions,
} from '../../domain/provider.ts';
import { isNotRunning } from '../guest/not-running.ts';
import { agentPath, volumeName, workspaceMount } from './container-spec.ts';
import type { ContainerState } from './container-state.ts';
import type { Containers, FoundContainer } from './containers.ts';
import type { DiskMode } from './disk/disk-mode.ts';
import type { GrantedDisk, WorkspaceDisks } from './disk/workspace-disks.ts';
import type { EngineInfo } from './engine-info.ts';
import type { GuestSandboxes } from './guest-sandboxes.ts';
import { isImageFailure } from './images/image-facts.ts';
import type { Images } from './images/images.ts';
import type { Prepared } from './prepared.ts';
import type { RuntimeTrials } from './runtime-trials.ts';
import { StartSteps } from './start-steps.ts';
import type { ContainerDefaults, OnProgress, Start } from './start-steps.ts';
import { stepFailure } from './step-failure.ts';

export interface LifecycleParts {
  readonly containers: Containers;
  readonly disks: WorkspaceDisks;
  readonly guests: GuestSandboxes;
  readonly prepared: Prepared;
  readonly images: Images;
  readonly runtime: RuntimeTrials;
  readonly defaults: ContainerDefaults;
  readonly clock: Clock;
  readonly log: Log;
}

const maxGraceMs = 10 * 60_000;
/** Beyond the grace that commands get: for the way to the agent and back. */
const terminateSlackMs = 15_000;
/**
 * Pauses before each attempt to remove a sandbox whose volume is still in use: the engine lets go of it a moment
 * after the container is gone, and a killed server's last request may bring a container back.
 */
const wipePausesMs = [0, 50, 100, 200, 400, 800, 1_600, 3_200] as const;

/**
 * How a sandbox comes, rests and goes: a container and a volume with its disk, each of which may be missing when a
 * server was killed. Volume and disk are removed by `destroy` and by a `create` that failed, and by nothing else.
 */
export class Lifecycle {
  readonly #parts: LifecycleParts;
  readonly #steps: StartSteps;
  readonly startupTimes = new RecentMedian();

  constructor(parts: LifecycleParts) {
    this.#parts = parts;
    this.#steps = new StartSteps(parts, (ref, signal) => this.#wipe(ref, signal));
  }

  /** Nothing is started before `network` is there. */
  create(
    spec: SandboxSpec,
    network: Promise<unknown>,
    signal: AbortSignal,
    onProgress?: OnProgress,
  ): Promise<CreatedSandbox> {
    return this.#run(spec, signal, 'new', (granted, { mode }) =>
      this.#steps.create(granted, { diskMode: mode, network }, signal, onProgress),
    );
  }

  stop(ref: SandboxRef, signal: AbortSignal, options: StopOptions = {}): Promise<void> {
    return this.#parts.guests.whileAwake(ref, () => this.#stop(ref, signal, options));
  }

  resume(
    ref: SandboxRef,
    spec: SandboxSpec,
    signal: AbortSignal,
    onProgress?: OnProgress,
  ): Promise<CreatedSandbox> {
    const { guests } = this.#parts;
    return guests.whileAwake(ref, () => this.#resume(ref, spec, signal, onProgress));
  }

  destroy(ref: SandboxRef, signal: AbortSignal, options: DestroyOptions = {}): Promise<void> {
    return this.#parts.guests.whileAwake(ref, () => this.#destroy(ref, signal, options));
  }

  /** The container is kept: what was written outside /workspace lies in it. */
  async #stop(ref: SandboxRef, signal: AbortSignal, options: StopOptions): Promise<void> {
    const { containers, guests } = this.#parts;
    const container = await containers.find(ref, signal);
    if (container?.ours && container.running) {
      await this.#terminate(ref, container, signal, options);
      await containers.stop(ref, signal);
    }
    guests.close(ref);
  }

  async #resume(
    ref: SandboxRef,
    spec: SandboxSpec,
    signal: AbortSignal,
    onProgress?: OnProgress,
  ): Promise<CreatedSandbox> {
    const { containers, disks, defaults } = this.#parts;
    // First: a container made on a volume that is missing quietly gets a new, empty one.
    const disk = await disks.ready(
      spec,
      defaults.profile.provider,
      () => this.#removeContainer(ref, signal),
      signal,
    );
    const found = await containers.find(ref, signal);
    const rebuild = (why: string): Promise<CreatedSandbox> =>
      this.#rebuild(spec, disk, why, signal, onProgress);
    if (!found) return rebuild('its container was gone');
    if (!found.ours) throw foreign(ref);
    const container = await this.#stoppedIfClosed(ref, found, signal);
    try {
      const start = this.#steps.startAgain(spec, container, signal);
      return await this.#run(spec, signal, disk, () => start);
    } catch (error) {
      if (container.running || signal.aborted || !isNotRunning(error)) throw error;
      return await rebuild(reasonOf(error));
    }
  }

  async #destroy(ref: SandboxRef, signal: AbortSignal, options: DestroyOptions): Promise<void> {
    const { containers, guests } = this.#parts;
    const container = await containers.find(ref, signal);
    if (container?.ours && container.running) {
      await this.#terminate(ref, container, signal, options);
    }
    if (options.keepFiles !== true) return this.#wipe(ref, signal);
    guests.close(ref);
    await this.#removeContainer(ref, signal);
  }

  /** Finishes a stop that was interrupted: its agent has ended all commands, and takes no more. */
  async #stoppedIfClosed(
    ref: SandboxRef,
    container: FoundContainer,
    signal: AbortSignal,
  ): Promise<FoundContainer> {
    const { containers, guests } = this.#parts;
    if (!container.running || container.paused) return container;
    try {
      const trial = await guests.of(ref).exec({ argv: [agentPath, 'version'] }, signal);
      await Array.fromAsync(trial.events);
      return container;
    } catch (error) {
      if (!(error instanceof EmergentError) || error.code !== 'interrupted') throw error;
    }
    await containers.stop(ref, signal);
    guests.close(ref);
    return { ...container, running: false };
  }

  async #run(
    spec: SandboxSpec,
    signal: AbortSignal,
    has: DiskMode | 'new',
    startOf: (granted: SandboxSpec, disk: GrantedDisk) => Start,
  ): Promise<CreatedSandbox> {
    const { clock, disks, prepared, runtime, defaults } = this.#parts;
    const startedAt = clock.monotonic();
    const { engine } = await prepared.get(signal);
    const { diskBytes } = spec.limits;
    const disk =
      has === 'new'
        ? await disks.grant(diskBytes, engine.id, signal)
        : { mode: has, bytes: diskBytes };
    const granted = grantedOf(spec, engine, disk);
    try {
      const start = startOf(granted, disk);
      const steps = await runSteps(start.steps, clock);
      const program = await start.program;
      // How long a pull takes says nothing about the next start.
      this.startupTimes.add(Math.round(clock.monotonic() - startedAt) - (steps['image'] ?? 0));
      return {
        limits: granted.limits,
        ...(program && { program }),
        metadata: {
          ...{ isolation: defaults.profile.isolation, ...runtime.facts },
          ...{ memory_mode: 'watchdog', ...diskFacts(disk, spec) },
          start_steps_ms: steps,
        },
      };
    } catch (error) {
      if (!isImageFailure(error)) {
        prepared.forget();
        runtime.forget();
      }
      throw stepFailure(error);
    }
  }

  /** In a new container on the same volume: what was written outside /workspace is gone, and that is said. */
  async #rebuild(
    spec: SandboxSpec,
    disk: DiskMode,
    why: string,
    signal: AbortSignal,
    onProgress?: OnProgress,
  ): Promise<CreatedSandbox> {
    const { clock, log, prepared } = this.#parts;
    const container = spec.sandboxName;
    log.warn('a container is built anew on the volume of its workspace', { container, why });
    // The agent volume or the network may be what was missing.
    prepared.forget();
    const created = await this.#run(spec, signal, disk, (granted) =>
      this.#steps.rebuild(granted, signal, onProgress),
    );
    const rebuilt = { at: clock.now().toISOString(), why };
    return { ...created, metadata: { ...created.metadata, rebuilt } };
  }

  /** An agent that cannot be reached does not keep a sandbox from being stopped. */
  async #terminate(
    ref: SandboxRef,
    { paused }: ContainerState,
    signal: AbortSignal,
    options: StopOptions,
  ): Promise<void> {
    const { containers, guests, log } = this.#parts;
    const graceMs = Math.min(options.graceMs ?? terminateGraceMs, maxGraceMs);
    try {
      // It would hear nothing, and the engine takes ten seconds to remove it.
      if (paused) await containers.unpause(ref, signal);
      await withDeadline(
        'ending the commands of the sandbox',
        graceMs + terminateSlackMs,
        (inner) => guests.of(ref).terminate(graceMs, inner),
        signal,
      );
    } catch (error) {
      if (signal.aborted) throw abortReason(signal);
      const container = ref.sandboxName;
      log.warn('commands of a sandbox could not be asked to end', { container, err: error });
    }
  }

  async #removeContainer(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    const { containers, guests } = this.#parts;
    if (!(await containers.find(ref, signal))) return;
    await guests.whileAwake(ref, () => containers.remove(ref, signal));
    guests.close(ref);
  }

  /** The link goes first: one that leads to the old container would break in the hands of the next. */
  async #wipe(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    const { clock, disks, guests } = this.#parts;
    guests.close(ref);
    for (const pause of wipePausesMs) {
      await clock.sleep(pause, signal);
      await this.#removeContainer(ref, signal);
      if (await disks.remove(ref, signal)) return;
    }
    throw new EmergentError(
      'provider_failed',
      `the volume ${volumeName(ref.workspaceId)} is used by another container`,
    );
  }
}

function foreign(ref: SandboxRef): EmergentError {
  return new EmergentError(
    'provider_failed',
    `the container ${ref.sandboxName} belongs to another installation`,
  );
}

/** An engine refuses more CPUs than it has, a host more disk than it has; what was granted is reported. */
function grantedOf(spec: SandboxSpec, engine: EngineInfo, disk: GrantedDisk): SandboxSpec {
  const cpu = Math.min(spec.limits.cpu, engine.cpus);
  return { ...spec, limits: { ...spec.limits, cpu, diskBytes: disk.bytes } };
}

/** What is written outside of `disk_scope` lies in the container's layer, which has no limit of its own. */
function diskFacts(
  { mode }: GrantedDisk,
  { volumes = [] }: SandboxSpec,
): Readonly<Record<string, string>> {
  return { disk_mode: mode, disk_scope: [workspaceMount, ...volumes].join(' ') };
}
