import type Docker from 'dockerode';
import { withDeadline } from '../../base/deadline.ts';
import { untilAborted } from '../../base/until-aborted.ts';
import { EmergentError } from '../../domain/errors.ts';
import { ensureAgentVolume } from './agent-volume.ts';
import type { AgentPaths } from './agent-volume.ts';
import { engineRemedy } from './docker.ts';
import { engineState } from './engine-info.ts';
import type { EngineInfo } from './engine-info.ts';
import { ensureNatNetwork } from './networks.ts';

const prepareMs = 30_000;

/** What every container needs on the engine. */
export interface Preparation {
  readonly engine: EngineInfo;
  readonly agentVolume: string;
  readonly natNetwork: string;
}

export interface PreparedOptions {
  readonly docker: Docker;
  readonly image: string;
  readonly agentPaths: AgentPaths | null;
}

/**
 * Prepares the engine once, for all who ask, and remembers it. Whoever fails on a prepared engine says so with
 * `forget`: the engine may have been emptied or replaced behind our back.
 */
export class Prepared {
  readonly #options: PreparedOptions;
  #preparation: Promise<Preparation> | undefined;
  #engine: EngineInfo | undefined;

  constructor(options: PreparedOptions) {
    this.#options = options;
  }

  /** The engine as it was when last prepared; undefined before that. */
  get engine(): EngineInfo | undefined {
    return this.#engine;
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
    preparing.catch(() => {
      if (this.#preparation === preparing) this.#preparation = undefined;
    });
    return preparing;
  }

  forget(): void {
    this.#preparation = undefined;
  }

  async #prepare(signal: AbortSignal): Promise<Preparation> {
    const { docker, image, agentPaths } = this.#options;
    const state = await engineState(docker, signal);
    if (state.state === 'down') {
      throw new EmergentError('provider_unavailable', state.reason, { hint: engineRemedy });
    }
    const engine = state.info;
    this.#engine = engine;
    const [agentVolume, natNetwork] = await Promise.all([
      ensureAgentVolume(docker, engine.architecture, agentPaths, image, signal),
      ensureNatNetwork(docker, signal),
    ]);
    return { engine, agentVolume, natNetwork };
  }
}
