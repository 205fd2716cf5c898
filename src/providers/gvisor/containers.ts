import type Docker from 'dockerode';
import { EmergentError } from '../../domain/errors.ts';
import type { ImageProgram, SandboxRef } from '../../domain/provider.ts';
import { labels } from './container-spec.ts';
import { containerState } from './container-state.ts';
import type { ContainerState } from './container-state.ts';
import { engineCall, engineStatus } from './docker.ts';
import { programOf } from './program-label.ts';

const quickMs = 10_000;
const startMs = 30_000;
/** Longer than the agent takes to end what it runs; it leaves as soon as that is done. */
const stopGraceSeconds = 8;

export interface FoundContainer extends ContainerState {
  readonly id: string;
  /** Of its first process, on the engine's host; 0 where it does not run. */
  readonly pid: number;
  readonly ours: boolean;
  /** Of its first process; means nothing while it runs. */
  readonly exitCode: number;
  /** Undefined where it does not say. */
  readonly program: ImageProgram | undefined;
}

/** The engine's operations on the container of one workspace, each bounded and idempotent. */
export class Containers {
  readonly #docker: Docker;
  readonly #installationId: string;

  constructor(docker: Docker, installationId: string) {
    this.#docker = docker;
    this.#installationId = installationId;
  }

  async find(ref: SandboxRef, signal: AbortSignal): Promise<FoundContainer | undefined> {
    const container = this.#docker.getContainer(ref.sandboxName);
    try {
      const found = await engineCall(
        'looking for the container',
        quickMs,
        (abortSignal) => container.inspect({ abortSignal }),
        signal,
      );
      const ours =
        found.Config.Labels[labels.installation] === this.#installationId &&
        found.Config.Labels[labels.workspace] === ref.workspaceId;
      const { Pid: pid, ExitCode: exitCode } = found.State;
      const program = ours ? programOf(found.Config.Labels) : undefined;
      return { id: found.Id, pid, ours, exitCode, program, ...containerState(found.State) };
    } catch (error) {
      if (engineStatus(error) === 404) return undefined;
      throw error;
    }
  }

  /** Not cut short when the caller goes away: the engine would make it all the same, after our clean-up. */
  async create(options: Docker.ContainerCreateOptions): Promise<void> {
    try {
      await engineCall('creating the container', quickMs, (abortSignal) =>
        this.#docker.createContainer({ ...options, abortSignal }),
      );
    } catch (error) {
      // Everything else that a create names was made just before, so what is missing is the image.
      if (engineStatus(error) !== 404) throw error;
      throw new EmergentError(
        'image_not_found',
        `the image "${options.Image ?? ''}" is not on the Docker engine`,
        { cause: error },
      );
    }
  }

  async start(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    const container = this.#docker.getContainer(ref.sandboxName);
    await tolerating(
      [304],
      engineCall(
        'starting the container',
        startMs,
        (abortSignal): Promise<unknown> => container.start({ abortSignal }),
        signal,
      ),
    );
  }

  async unpause(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    const container = this.#docker.getContainer(ref.sandboxName);
    await engineCall(
      'letting the container go on',
      quickMs,
      (abortSignal): Promise<unknown> => container.unpause({ abortSignal }),
      signal,
    );
  }

  /** The agent gets time to end what it still runs. */
  async stop(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    const container = this.#docker.getContainer(ref.sandboxName);
    await tolerating(
      [304, 404],
      engineCall(
        'stopping the container',
        startMs + stopGraceSeconds * 1000,
        (abortSignal): Promise<unknown> => container.stop({ t: stopGraceSeconds, abortSignal }),
        signal,
      ),
    );
  }

  /**
   * By force, with the nameless volumes that its image declared, and waits until it is gone, also when somebody
   * else is removing it at the moment. One of the same name that belongs to somebody else is left alone.
   */
  async remove(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    const found = await this.find(ref, signal);
    if (!found?.ours) return;
    const container = this.#docker.getContainer(found.id);
    const remove = (abortSignal: AbortSignal): Promise<unknown> =>
      container.remove({ force: true, v: true, abortSignal });
    try {
      await engineCall('removing the container', startMs, remove, signal);
    } catch (error) {
      if (engineStatus(error) === 404) return;
      if (engineStatus(error) !== 409) throw error;
      await tolerating(
        [404],
        engineCall(
          'waiting for the removal of the container',
          startMs,
          (abortSignal): Promise<unknown> => container.wait({ condition: 'removed', abortSignal }),
          signal,
        ),
      );
    }
  }
}

async function tolerating(statuses: readonly number[], call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!statuses.includes(engineStatus(error) ?? 0)) throw error;
  }
}
