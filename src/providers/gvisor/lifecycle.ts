import { abortReason } from '../../base/clock.ts';
import type { Clock } from '../../base/clock.ts';
import { withDeadline } from '../../base/deadline.ts';
import type { Log } from '../../base/log.ts';
import { reasonOf } from '../../base/reason.ts';
import { runSteps } from '../../base/steps.ts';
import type { Step } from '../../base/steps.ts';
import { EmergentError } from '../../domain/errors.ts';
import { terminateGraceMs } from '../../domain/provider.ts';
import type { CreatedSandbox, SandboxRef, SandboxSpec } from '../../domain/provider.ts';
import { isNotRunning } from '../guest/not-running.ts';
import { agentPath, volumeName } from './container-spec.ts';
import type { ContainerState } from './container-state.ts';
import type { Containers } from './containers.ts';
import type { EngineInfo } from './engine-info.ts';
import type { GuestSandboxes } from './guest-sandboxes.ts';
import type { Prepared } from './prepared.ts';
import { StartSteps } from './start-steps.ts';
import type { ContainerDefaults } from './start-steps.ts';
import { StartupTimes } from './startup-times.ts';
import { stepFailure } from './step-failure.ts';
import type { Volumes } from './volumes.ts';

export interface LifecycleParts {
  readonly containers: Containers;
  readonly volumes: Volumes;
  readonly guests: GuestSandboxes;
  readonly prepared: Prepared;
  readonly defaults: ContainerDefaults;
  readonly clock: Clock;
  readonly log: Log;
}

/** Beyond the grace that commands get: for the way to the agent and back. */
const terminateSlackMs = 15_000;
/**
 * Pauses before each attempt to remove a sandbox whose volume is still in use: the engine lets go of it a moment
 * after the container is gone, and a killed server's last request may bring a container back.
 */
const wipePausesMs = [0, 50, 100, 200, 400, 800, 1_600, 3_200] as const;

/**
 * How a sandbox comes, rests and goes: a container and a volume, each of which may be missing when a server was
 * killed. The volume is removed by `destroy` and by a `create` that failed, and by nothing else.
 */
export class Lifecycle {
  readonly #parts: LifecycleParts;
  readonly #steps: StartSteps;
  readonly startupTimes = new StartupTimes();

  constructor(parts: LifecycleParts) {
    this.#parts = parts;
    this.#steps = new StartSteps(parts, (ref, signal) => this.#wipe(ref, signal));
  }

  create(spec: SandboxSpec, signal: AbortSignal): Promise<CreatedSandbox> {
    return this.#run(spec, signal, (granted) => this.#steps.create(granted, signal));
  }

  /** The container is kept: what was written outside /workspace lies in it. */
  async stop(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    const { containers, guests } = this.#parts;
    const container = await containers.find(ref, signal);
    if (container?.ours && container.running) {
      await this.#terminate(ref, container, signal);
      await containers.stop(ref, signal);
    }
    guests.close(ref);
  }

  async resume(ref: SandboxRef, spec: SandboxSpec, signal: AbortSignal): Promise<CreatedSandbox> {
    const { containers, volumes } = this.#parts;
    // First: a container made on a volume that is missing quietly gets a new, empty one.
    if (!(await volumes.exists(ref, signal))) {
      throw new EmergentError(
        'files_lost',
        `the files of the workspace are gone: there is no volume ${volumeName(ref.workspaceId)}`,
      );
    }
    const found = await containers.find(ref, signal);
    if (!found) return this.#rebuild(spec, 'its container was gone', signal);
    if (!found.ours) throw foreign(ref);
    const container = await this.#stoppedIfClosed(ref, found, signal);
    try {
      const steps = this.#steps.startAgain(spec, container, signal);
      return await this.#run(spec, signal, () => steps);
    } catch (error) {
      if (container.running || signal.aborted || !isNotRunning(error)) throw error;
      return await this.#rebuild(spec, reasonOf(error), signal);
    }
  }

  async destroy(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    const { containers } = this.#parts;
    const container = await containers.find(ref, signal);
    if (container?.ours && container.running) await this.#terminate(ref, container, signal);
    await this.#wipe(ref, signal);
  }

  /** Finishes a stop that was interrupted: its agent has ended all commands, and takes no more. */
  async #stoppedIfClosed(
    ref: SandboxRef,
    container: ContainerState,
    signal: AbortSignal,
  ): Promise<ContainerState> {
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
    stepsFor: (granted: SandboxSpec) => readonly Step[],
  ): Promise<CreatedSandbox> {
    const { clock, prepared } = this.#parts;
    const startedAt = clock.monotonic();
    const { engine } = await prepared.get(signal);
    const granted = clampToEngine(spec, engine);
    try {
      const steps = await runSteps(stepsFor(granted), clock);
      this.startupTimes.add(Math.round(clock.monotonic() - startedAt));
      return {
        limits: granted.limits,
        metadata: { isolation: 'gvisor', disk_mode: 'unenforced', start_steps_ms: steps },
      };
    } catch (error) {
      prepared.forget();
      throw stepFailure(error);
    }
  }

  /** In a new container on the same volume: what was written outside /workspace is gone, and that is said. */
  async #rebuild(spec: SandboxSpec, why: string, signal: AbortSignal): Promise<CreatedSandbox> {
    const { clock, log, prepared } = this.#parts;
    const container = spec.sandboxName;
    log.warn('a container is built anew on the volume of its workspace', { container, why });
    // The agent volume or the network may be what was missing.
    prepared.forget();
    const created = await this.#run(spec, signal, (granted) =>
      this.#steps.rebuild(granted, signal),
    );
    const rebuilt = { at: clock.now().toISOString(), why };
    return { ...created, metadata: { ...created.metadata, rebuilt } };
  }

  /** An agent that cannot be reached does not keep a sandbox from being stopped. */
  async #terminate(
    ref: SandboxRef,
    { paused }: ContainerState,
    signal: AbortSignal,
  ): Promise<void> {
    const { containers, guests, log } = this.#parts;
    try {
      // It would hear nothing, and the engine takes ten seconds to remove it.
      if (paused) await containers.unpause(ref, signal);
      await withDeadline(
        'ending the commands of the sandbox',
        terminateGraceMs + terminateSlackMs,
        (inner) => guests.of(ref).terminate(terminateGraceMs, inner),
        signal,
      );
    } catch (error) {
      if (signal.aborted) throw abortReason(signal);
      const container = ref.sandboxName;
      log.warn('commands of a sandbox could not be asked to end', { container, err: error });
    }
  }

  /** The link goes first: one that leads to the old container would break in the hands of the next. */
  async #wipe(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    const { clock, containers, guests, volumes } = this.#parts;
    guests.close(ref);
    for (const pause of wipePausesMs) {
      await clock.sleep(pause, signal);
      await containers.remove(ref, signal);
      if (await volumes.remove(ref, signal)) return;
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

/** An engine refuses more CPUs than it has; what was granted is reported. */
function clampToEngine(spec: SandboxSpec, engine: EngineInfo): SandboxSpec {
  return { ...spec, limits: { ...spec.limits, cpu: Math.min(spec.limits.cpu, engine.cpus) } };
}
