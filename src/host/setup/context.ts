import { findEngine } from '../docker/engine.ts';
import type { Engine, EngineLook } from '../docker/engine.ts';
import { findGo, requiredGo } from '../go/find.ts';
import type { GoToolchain } from '../go/find.ts';
import type { RootAccess } from '../root.ts';
import type { TriedRuntime } from '../runsc/kept-trial.ts';

/** What the steps of one run find and hand on to later ones. */
export class SetupContext {
  readonly root: RootAccess;
  runtime: TriedRuntime | undefined;
  #look: EngineLook | undefined;
  #go: GoToolchain | undefined;

  constructor(root: RootAccess) {
    this.root = root;
  }

  async lookAtEngine(signal: AbortSignal): Promise<EngineLook> {
    this.#look = await findEngine(undefined, signal);
    return this.#look;
  }

  /** The engine as last seen; steps that need it run after the one that finds it. */
  get engine(): Engine {
    const engine = this.#look?.engine;
    if (!engine) throw new Error('no Docker engine was found');
    return engine;
  }

  get foundEngine(): Engine | undefined {
    return this.#look?.engine;
  }

  async findGo(signal: AbortSignal): Promise<GoToolchain | undefined> {
    this.#go ??= await findGo(await requiredGo(), signal);
    return this.#go;
  }

  async go(signal: AbortSignal): Promise<GoToolchain> {
    const go = await this.findGo(signal);
    if (!go) throw new Error('no Go toolchain was found');
    return go;
  }
}
