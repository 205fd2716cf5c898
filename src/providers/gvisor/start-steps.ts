import { reasonOf } from '../../base/reason.ts';
import type { Step } from '../../base/steps.ts';
import type { SandboxRef, SandboxSpec } from '../../domain/provider.ts';
import { notRunning } from '../guest/not-running.ts';
import { containerOptions } from './container-spec.ts';
import type { ContainerState } from './container-state.ts';
import type { Containers } from './containers.ts';
import { engineStatus } from './docker.ts';
import type { GuestSandboxes } from './guest-sandboxes.ts';
import { hostNameservers } from './networks.ts';
import type { Prepared } from './prepared.ts';
import type { Volumes } from './volumes.ts';

/** What all containers of this server have in common and is known beforehand. */
export interface ContainerDefaults {
  readonly installationId: string;
  readonly runtime: string;
  /** Empty: the host's own. */
  readonly nameservers: readonly string[];
}

interface Parts {
  readonly containers: Containers;
  readonly volumes: Volumes;
  readonly guests: GuestSandboxes;
  readonly prepared: Prepared;
  readonly defaults: ContainerDefaults;
}

const undoDeadlineMs = 60_000;

/** The steps, with their undos, that bring a sandbox up from nothing, from its volume or from its container. */
export class StartSteps {
  readonly #parts: Parts;
  readonly #wipe: (ref: SandboxRef, signal: AbortSignal) => Promise<void>;

  /** `wipe` removes the container and the volume, whatever there is of them. */
  constructor(parts: Parts, wipe: (ref: SandboxRef, signal: AbortSignal) => Promise<void>) {
    this.#parts = parts;
    this.#wipe = wipe;
  }

  create(spec: SandboxSpec, signal: AbortSignal): readonly Step[] {
    return [
      this.#clear(spec, signal),
      this.#volume(spec, signal),
      this.#container(spec, signal),
      this.#start(spec, signal),
      this.#agent(spec, signal),
    ];
  }

  /** Never touches the volume. */
  rebuild(spec: SandboxSpec, signal: AbortSignal): readonly Step[] {
    return [
      this.#noContainer(spec, signal),
      this.#container(spec, signal),
      this.#start(spec, signal),
      this.#agent(spec, signal),
    ];
  }

  /** What runs already is only asked whether it is ready. */
  startAgain(spec: SandboxSpec, state: ContainerState, signal: AbortSignal): readonly Step[] {
    const agent = this.#agent(spec, signal);
    if (state.running && !state.paused) return [agent];
    return [this.#restart(spec, state, signal), agent];
  }

  /** Its undo is there before anything is made, so it also takes what an unanswered request made later. */
  #clear(spec: SandboxSpec, signal: AbortSignal): Step {
    return {
      name: 'clear',
      run: async () => {
        await this.#wipe(spec, signal);
        return () => this.#wipe(spec, AbortSignal.timeout(undoDeadlineMs));
      },
    };
  }

  #noContainer(spec: SandboxSpec, signal: AbortSignal): Step {
    const { containers, guests } = this.#parts;
    return {
      name: 'clear',
      run: async () => {
        guests.close(spec);
        await containers.remove(spec, signal);
        return () => containers.remove(spec, AbortSignal.timeout(undoDeadlineMs));
      },
    };
  }

  #volume(spec: SandboxSpec, signal: AbortSignal): Step {
    return {
      name: 'volume',
      run: async () => {
        signal.throwIfAborted();
        await this.#parts.volumes.create(spec);
        return undefined;
      },
    };
  }

  #container(spec: SandboxSpec, signal: AbortSignal): Step {
    const { containers, prepared, defaults, guests } = this.#parts;
    return {
      name: 'container',
      run: async () => {
        const settings = {
          ...defaults,
          ...(await prepared.forContainer(signal)),
          ...(defaults.nameservers.length === 0 && { nameservers: await hostNameservers() }),
        };
        const options = containerOptions(spec, settings, guests.tokenHash(spec.workspaceId));
        signal.throwIfAborted();
        try {
          await containers.create(options);
        } catch (error) {
          // A killed server's request for the same container may reach the engine just before ours.
          if (engineStatus(error) !== 409) throw error;
          await containers.remove(spec, signal);
          await containers.create(options);
        }
        return undefined;
      },
    };
  }

  #start(spec: SandboxSpec, signal: AbortSignal): Step {
    return {
      name: 'start',
      run: async () => {
        await this.#parts.containers.start(spec, signal);
        return undefined;
      },
    };
  }

  #restart(spec: SandboxSpec, state: ContainerState, signal: AbortSignal): Step {
    const { containers } = this.#parts;
    return {
      name: 'start',
      run: async () => {
        try {
          await (state.paused ? containers.unpause(spec, signal) : containers.start(spec, signal));
        } catch (error) {
          if (engineStatus(error) === undefined) throw error;
          throw notRunning(
            `the container ${spec.sandboxName}`,
            `cannot be started: ${reasonOf(error)}`,
            error,
          );
        }
        if (state.running) return undefined;
        return () => containers.stop(spec, AbortSignal.timeout(undoDeadlineMs));
      },
    };
  }

  #agent(spec: SandboxSpec, signal: AbortSignal): Step {
    const { containers, guests } = this.#parts;
    return {
      name: 'agent',
      run: async () => {
        try {
          await guests.of(spec).ready(signal);
        } catch (error) {
          guests.close(spec);
          const container = await containers.find(spec, signal);
          if (container?.end === undefined) throw error;
          throw notRunning(`the container ${spec.sandboxName}`, container.end, error);
        }
        return undefined;
      },
    };
  }
}
