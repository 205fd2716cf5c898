import type Docker from 'dockerode';
import type { SandboxRef, SandboxSpec } from '../../domain/provider.ts';
import { labels, volumeName, workspaceLabels } from './container-spec.ts';
import { engineCall, engineStatus } from './docker.ts';

const quickMs = 10_000;
const removeMs = 30_000;

/** The engine's operations on the volume with the files of one workspace, each bounded and idempotent. */
export class Volumes {
  readonly #docker: Docker;
  readonly #installationId: string;

  constructor(docker: Docker, installationId: string) {
    this.#docker = docker;
    this.#installationId = installationId;
  }

  /** Not cut short when the caller goes away: the engine would make it all the same, after our clean-up. */
  async create(spec: SandboxSpec): Promise<void> {
    await engineCall('creating the volume', quickMs, (abortSignal) =>
      this.#docker.createVolume({
        Name: volumeName(spec.workspaceId),
        Labels: workspaceLabels(this.#installationId, spec),
        abortSignal,
      }),
    );
  }

  /** One without our labels was made by the engine in place of one that was missing: it holds nothing. */
  async exists(ref: SandboxRef, signal: AbortSignal): Promise<boolean> {
    const volume = this.#docker.getVolume(volumeName(ref.workspaceId));
    try {
      const found = await engineCall(
        'looking for the volume',
        quickMs,
        () => volume.inspect(),
        signal,
      );
      // The engine sends null where there are none.
      const carried = found.Labels as Record<string, string> | null;
      return carried?.[labels.installation] === this.#installationId;
    } catch (error) {
      if (engineStatus(error) === 404) return false;
      throw error;
    }
  }

  /** False: a container still uses it. */
  async remove(ref: SandboxRef, signal: AbortSignal): Promise<boolean> {
    const volume = this.#docker.getVolume(volumeName(ref.workspaceId));
    try {
      await engineCall(
        'removing the volume',
        removeMs,
        (abortSignal): Promise<unknown> => volume.remove({ abortSignal }),
        signal,
      );
    } catch (error) {
      if (engineStatus(error) === 409) return false;
      if (engineStatus(error) !== 404) throw error;
    }
    return true;
  }
}
