import { withDeadline } from '../../base/deadline.ts';
import { reasonOf } from '../../base/reason.ts';
import type { Step } from '../../base/steps.ts';
import { EmergentError } from '../../domain/errors.ts';
import type {
  ImageProgram,
  SandboxRef,
  SandboxSpec,
  StartProgress,
} from '../../domain/provider.ts';
import { notRunning } from '../guest/not-running.ts';
import type { ContainerProfile } from './container-profile.ts';
import { agentKnowsNoUser, containerOptions } from './container-spec.ts';
import type { ContainerState } from './container-state.ts';
import type { Containers, FoundContainer } from './containers.ts';
import type { DiskMode } from './disk/disk-mode.ts';
import type { WorkspaceDisks } from './disk/workspace-disks.ts';
import { engineStatus } from './docker.ts';
import type { GuestSandboxes } from './guest-sandboxes.ts';
import { unsuitable } from './images/image-facts.ts';
import type { ImageFacts } from './images/image-facts.ts';
import type { Images } from './images/images.ts';
import { hostNameservers } from './network/nameservers.ts';
import type { Prepared } from './prepared.ts';

/** What all containers of this server have in common and is known beforehand. */
export interface ContainerDefaults {
  readonly installationId: string;
  readonly profile: ContainerProfile;
  /** Empty: the host's own. */
  readonly nameservers: readonly string[];
}

export type OnProgress = (progress: StartProgress) => void;

/** From the step that finds the image to the one that makes the container. */
type Found = PromiseWithResolvers<ImageFacts>;

interface Parts {
  readonly containers: Containers;
  readonly disks: WorkspaceDisks;
  readonly guests: GuestSandboxes;
  readonly prepared: Prepared;
  readonly images: Images;
  readonly defaults: ContainerDefaults;
}

const undoDeadlineMs = 60_000;
const environmentMs = 10_000;

/** How a sandbox is brought up. */
export interface Start {
  readonly steps: readonly Step[];
  /** What its image is made to run, where it is known; it is by the end of the steps. */
  readonly program: Promise<ImageProgram | undefined>;
}

/** The steps, with their undos, that bring a sandbox up from nothing, from its volume or from its container. */
export class StartSteps {
  readonly #parts: Parts;
  readonly #wipe: (ref: SandboxRef, signal: AbortSignal) => Promise<void>;

  /** `wipe` removes the container, the volume and its disk, whatever there is of them. */
  constructor(parts: Parts, wipe: (ref: SandboxRef, signal: AbortSignal) => Promise<void>) {
    this.#parts = parts;
    this.#wipe = wipe;
  }

  /** The image first: nothing is made for one that cannot be had. What it starts on is being prepared meanwhile. */
  create(
    spec: SandboxSpec,
    { diskMode, network }: { readonly diskMode: DiskMode; readonly network: Promise<unknown> },
    signal: AbortSignal,
    onProgress?: OnProgress,
  ): Start {
    const found: Found = Promise.withResolvers();
    return start(found, [
      this.#image(spec, found, signal, onProgress),
      this.#clear(spec, signal),
      this.#volume(spec, diskMode, signal),
      this.#container(spec, found, signal),
      waitFor('network', network),
      this.#start(spec, signal),
      this.#agent(spec, signal),
    ]);
  }

  /** Never touches the volume. */
  rebuild(spec: SandboxSpec, signal: AbortSignal, onProgress?: OnProgress): Start {
    const found: Found = Promise.withResolvers();
    return start(found, [
      this.#image(spec, found, signal, onProgress),
      this.#noContainer(spec, signal),
      this.#container(spec, found, signal),
      this.#start(spec, signal),
      this.#agent(spec, signal),
    ]);
  }

  /** What runs already is only asked whether it is ready. */
  startAgain(spec: SandboxSpec, state: FoundContainer, signal: AbortSignal): Start {
    const runs = state.running && !state.paused;
    const steps = [
      ...(runs ? [] : [this.#restart(spec, state, signal)]),
      this.#agent(spec, signal),
      ...(Object.keys(spec.env).length > 0 ? [this.#environment(spec, signal)] : []),
    ];
    return { steps, program: Promise.resolve(state.program) };
  }

  #image(
    { image }: SandboxSpec,
    found: Found,
    signal: AbortSignal,
    onProgress: OnProgress = () => undefined,
  ): Step {
    const { images, prepared } = this.#parts;
    return {
      name: 'image',
      run: async () => {
        const { engine } = await prepared.get(signal);
        found.resolve(await images.ensure(image, engine.architecture, signal, onProgress));
        return undefined;
      },
    };
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

  #volume(spec: SandboxSpec, diskMode: DiskMode, signal: AbortSignal): Step {
    const { disks, defaults } = this.#parts;
    return {
      name: 'volume',
      run: async () => {
        signal.throwIfAborted();
        await disks.make(spec, defaults.profile.provider, diskMode, signal);
        return undefined;
      },
    };
  }

  #container(spec: SandboxSpec, found: Found, signal: AbortSignal): Step {
    const { containers, prepared, defaults, guests } = this.#parts;
    return {
      name: 'container',
      run: async () => {
        const settings = {
          ...defaults,
          ...(await prepared.forContainer(signal)),
          ...(defaults.nameservers.length === 0 && { nameservers: await hostNameservers() }),
        };
        const image = await found.promise;
        const tokenHash = guests.tokenHash(spec.workspaceId);
        const options = containerOptions(spec, image, settings, tokenHash);
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
        const { containers, guests } = this.#parts;
        await containers.start(spec, signal);
        // Somebody may have dialled while it did not run yet, and whoever comes now would share that failure.
        guests.close(spec);
        guests.idle.started(spec);
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
          if (container.exitCode === agentKnowsNoUser) {
            throw unsuitable(spec.image, 'names a USER that is not in its /etc/passwd', error);
          }
          throw notRunning(`the container ${spec.sandboxName}`, container.end, error);
        }
        return undefined;
      },
    };
  }

  /**
   * A container that was adopted has none of it, and an agent that has just started does not know what an earlier one
   * was told. One that cannot be told was never adopted: its container has it.
   */
  #environment(spec: SandboxSpec, signal: AbortSignal): Step {
    return {
      name: 'environment',
      run: async () => {
        try {
          await withDeadline(
            'giving the sandbox its environment',
            environmentMs,
            (inner) => this.#parts.guests.of(spec).adopt(spec.env, inner),
            signal,
          );
        } catch (error) {
          if (!(error instanceof EmergentError) || error.code !== 'unsupported') throw error;
        }
        return undefined;
      },
    };
  }
}

function start(found: Found, steps: readonly Step[]): Start {
  return { steps, program: found.promise.then(({ program }) => program) };
}

function waitFor(name: string, something: Promise<unknown>): Step {
  return {
    name,
    run: async () => {
      await something;
      return undefined;
    },
  };
}
