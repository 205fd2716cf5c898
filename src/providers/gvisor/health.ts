import { randomUUID } from 'node:crypto';
import type Docker from 'dockerode';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { reasonOf } from '../../base/reason.ts';
import type { ProviderHealth } from '../../domain/provider.ts';
import { agentMount, agentPath, kinds, labels } from './container-spec.ts';
import { engineCall, engineRemedy, engineStatus } from './docker.ts';
import { engineState } from './engine-info.ts';
import type { EngineInfo } from './engine-info.ts';

const callMs = 4_000;
const probeMs = 20_000;
const failureHoldsMs = 30_000;

interface StartProbe {
  readonly engineId: string;
  readonly failure: string | undefined;
  readonly monotonic: number;
}

export interface HealthOptions {
  readonly docker: Docker;
  readonly clock: Clock;
  readonly log: Log;
  readonly installationId: string;
  readonly runtime: string;
  readonly image: string;
  /** The name of the filled agent volume. */
  readonly agentVolume: (signal: AbortSignal) => Promise<string>;
}

/**
 * The health of the gVisor back end: engine unreachable, runtime missing, image missing, runtime broken and
 * healthy are different answers. "Broken" is found by really starting a container, once per engine; a failure
 * is believed for half a minute, then tried again.
 */
export class GvisorHealth {
  readonly #options: HealthOptions;
  #probe: StartProbe | undefined;

  constructor(options: HealthOptions) {
    this.#options = options;
  }

  async check(signal: AbortSignal): Promise<ProviderHealth> {
    const { docker, runtime, image } = this.#options;
    const engine = await engineState(docker, signal);
    if (engine.state === 'down') return unhealthy(engine.reason, engineRemedy, {});
    const { info } = engine;
    const details = { engine: info.version, runtime, storage: info.storageDriver };
    if (!info.runtimes.includes(runtime)) {
      return unhealthy(
        `gVisor runtime not available: "${runtime}" is not registered with the Docker engine`,
        'Run `emergent serve` as root: its set-up installs and registers runsc.',
        details,
      );
    }
    if (!(await this.#hasImage(image, signal))) {
      return unhealthy(
        `the workspace image ${image} is not on the Docker engine`,
        'Run `emergent serve`: its set-up builds it; or name another in WORKSPACE_DEFAULT_IMAGE.',
        details,
      );
    }
    const failure = await this.#startFailure(info, signal);
    if (failure === undefined) return { state: 'healthy', details };
    return unhealthy(
      `gVisor runtime not available: ${failure}`,
      '`emergent doctor` tells whether runsc fits this kernel; set-up can install one that does.',
      details,
    );
  }

  async #startFailure(info: EngineInfo, signal: AbortSignal): Promise<string | undefined> {
    const now = this.#options.clock.monotonic();
    const known = this.#probe;
    if (known?.engineId === info.id) {
      const holds = known.failure === undefined || now - known.monotonic < failureHoldsMs;
      if (holds) return known.failure;
    }
    const failure = await this.#tryStart(signal);
    this.#probe = { engineId: info.id, failure, monotonic: this.#options.clock.monotonic() };
    return failure;
  }

  /** Runs `agent version` in a throw-away container; returns why that failed. */
  async #tryStart(signal: AbortSignal): Promise<string | undefined> {
    const { docker, installationId, runtime, image } = this.#options;
    const name = `emergent-probe-${randomUUID().slice(0, 8)}`;
    const container = docker.getContainer(name);
    const call = <T>(doing: string, work: (abortSignal: AbortSignal) => Promise<T>): Promise<T> =>
      engineCall(doing, probeMs, work, signal);
    try {
      const volume = await this.#options.agentVolume(signal);
      await call('creating a probe', (abortSignal) =>
        docker.createContainer({
          name,
          Image: image,
          Entrypoint: [agentPath, 'version'],
          Labels: { [labels.kind]: kinds.probe, [labels.installation]: installationId },
          HostConfig: {
            Runtime: runtime,
            NetworkMode: 'none',
            Mounts: [{ Type: 'volume', Source: volume, Target: agentMount, ReadOnly: true }],
          },
          abortSignal,
        }),
      );
      await call('starting a probe', (abortSignal): Promise<unknown> =>
        container.start({ abortSignal }),
      );
      const ended: unknown = await call('running a probe', (abortSignal) =>
        container.wait({ abortSignal }),
      );
      const { StatusCode: code } = ended as { StatusCode: number };
      return code === 0 ? undefined : `a probe container ended with exit code ${String(code)}`;
    } catch (error) {
      return reasonOf(error);
    } finally {
      await this.#removeProbe(container, name);
    }
  }

  async #removeProbe(container: Docker.Container, name: string): Promise<void> {
    try {
      await engineCall('removing a probe', probeMs, (abortSignal): Promise<unknown> =>
        container.remove({ force: true, abortSignal }),
      );
    } catch (error) {
      if (engineStatus(error) === 404) return;
      this.#options.log.warn('a probe container could not be removed', {
        container: name,
        err: error,
      });
    }
  }

  async #hasImage(image: string, signal: AbortSignal): Promise<boolean> {
    const { docker } = this.#options;
    try {
      await engineCall(
        'looking for an image',
        callMs,
        () => docker.getImage(image).inspect(),
        signal,
      );
      return true;
    } catch (error) {
      if (engineStatus(error) === 404) return false;
      throw error;
    }
  }
}

function unhealthy(
  reason: string,
  remedy: string,
  details: Readonly<Record<string, unknown>>,
): ProviderHealth {
  return { state: 'unhealthy', reason, remedy, details };
}
