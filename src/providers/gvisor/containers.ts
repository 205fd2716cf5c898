import type Docker from 'dockerode';
import { EmergentError } from '../../domain/errors.ts';
import type { SandboxRef, SandboxSpec } from '../../domain/provider.ts';
import { volumeName, workspaceLabels } from './container-spec.ts';
import { engineCall, engineStatus } from './docker.ts';

const quickMs = 10_000;
const startMs = 30_000;
const stopGraceSeconds = 10;

/** The engine's operations on the container and the volume of one workspace, each bounded and idempotent. */
export class Containers {
  readonly #docker: Docker;
  readonly #installationId: string;

  constructor(docker: Docker, installationId: string) {
    this.#docker = docker;
    this.#installationId = installationId;
  }

  /** Not cut short when the caller goes away: the engine would make it all the same, after our clean-up. */
  async createVolume(spec: SandboxSpec): Promise<void> {
    await engineCall('creating the volume', quickMs, (abortSignal) =>
      this.#docker.createVolume({
        Name: volumeName(spec.workspaceId),
        Labels: workspaceLabels(this.#installationId, spec),
        abortSignal,
      }),
    );
  }

  /** Not cut short either. */
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

  async start(name: string, signal: AbortSignal): Promise<void> {
    const container = this.#docker.getContainer(name);
    await engineCall(
      'starting the container',
      startMs,
      (abortSignal): Promise<unknown> => container.start({ abortSignal }),
      signal,
    );
  }

  async stop(name: string, signal: AbortSignal): Promise<void> {
    const container = this.#docker.getContainer(name);
    await tolerating(
      [304],
      engineCall(
        'stopping the container',
        startMs + stopGraceSeconds * 1000,
        (abortSignal): Promise<unknown> => container.stop({ t: stopGraceSeconds, abortSignal }),
        signal,
      ),
    );
  }

  /** Waits until it is gone, also when somebody else is removing it at the moment. */
  async remove(name: string, signal: AbortSignal): Promise<void> {
    const container = this.#docker.getContainer(name);
    const remove = (abortSignal: AbortSignal): Promise<unknown> =>
      container.remove({ force: true, abortSignal });
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

  async removeVolume(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    const volume = this.#docker.getVolume(volumeName(ref.workspaceId));
    await tolerating(
      [404],
      engineCall(
        'removing the volume',
        startMs,
        (abortSignal): Promise<unknown> => volume.remove({ abortSignal }),
        signal,
      ),
    );
  }
}

async function tolerating(statuses: readonly number[], call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!statuses.includes(engineStatus(error) ?? 0)) throw error;
  }
}
