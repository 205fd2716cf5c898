import { withDeadline } from '../../base/deadline.ts';
import { untilAborted } from '../../base/until-aborted.ts';
import { EmergentError } from '../../domain/errors.ts';
import { ensureAgentVolume } from './agent-volume.ts';
import type { AgentVolumeOptions } from './agent-volume.ts';
import { engineCall, engineRemedy, engineStatus } from './docker.ts';
import { engineState } from './engine-info.ts';
import type { EngineInfo } from './engine-info.ts';
import { natNetworkName } from './network/bridge.ts';

const prepareMs = 30_000;
const callMs = 10_000;
const closeMs = 10_000;

/** What every container needs on the engine. */
export interface Preparation {
  readonly engine: EngineInfo;
  readonly agentVolume: string;
  /** Its name; it is made for the first sandbox that needs it. */
  readonly natNetwork: string;
}

/**
 * Prepares the engine once, for all who ask, and remembers it. Whoever fails on a prepared engine says so with
 * `forget`: the engine may have been emptied or replaced behind our back.
 */
export class Prepared implements AsyncDisposable {
  readonly #options: AgentVolumeOptions;
  readonly #running = new Set<Promise<Preparation>>();
  #preparation: Promise<Preparation> | undefined;
  #engine: EngineInfo | undefined;

  constructor(options: AgentVolumeOptions) {
    this.#options = options;
  }

  /** The engine as it was when last prepared; undefined before that. */
  get engine(): EngineInfo | undefined {
    return this.#engine;
  }

  /**
   * What a container is about to be made with. An agent volume that nobody uses may have been swept by a server
   * of another version, and the engine would quietly mount an empty one in its place, so it is looked at.
   */
  async forContainer(signal: AbortSignal): Promise<Preparation> {
    const preparation = await this.get(signal);
    if (await this.#hasVolume(preparation.agentVolume, signal)) return preparation;
    this.forget();
    return this.get(signal);
  }

  /** `signal` ends the caller's waiting only: others may wait for the same preparation. */
  get(signal: AbortSignal): Promise<Preparation> {
    this.#preparation ??= this.#start();
    return untilAborted(this.#preparation, signal);
  }

  #start(): Promise<Preparation> {
    const preparing = withDeadline('preparing the Docker engine', prepareMs, (signal) =>
      this.#prepare(signal),
    );
    this.#running.add(preparing);
    preparing
      .catch(() => {
        if (this.#preparation === preparing) this.#preparation = undefined;
      })
      .finally(() => this.#running.delete(preparing));
    return preparing;
  }

  forget(): void {
    this.#preparation = undefined;
  }

  /** A preparation that is cut off leaves its helper container behind, so it is given time to end. */
  async [Symbol.asyncDispose](): Promise<void> {
    await withDeadline('the end of preparing the Docker engine', closeMs, async () => {
      await Promise.allSettled(this.#running);
    }).catch(() => undefined);
  }

  async #hasVolume(name: string, signal: AbortSignal): Promise<boolean> {
    const volume = this.#options.docker.getVolume(name);
    try {
      await engineCall('looking for the agent volume', callMs, () => volume.inspect(), signal);
      return true;
    } catch (error) {
      if (engineStatus(error) === 404) return false;
      throw error;
    }
  }

  async #prepare(signal: AbortSignal): Promise<Preparation> {
    const { docker } = this.#options;
    const state = await engineState(docker, signal);
    if (state.state === 'down') {
      throw new EmergentError('provider_unavailable', state.reason, { hint: engineRemedy });
    }
    const engine = state.info;
    this.#engine = engine;
    const agentVolume = await ensureAgentVolume(this.#options, engine.architecture, signal);
    return { engine, agentVolume, natNetwork: natNetworkName };
  }
}
