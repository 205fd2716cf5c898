import { actors } from '../../domain/events.ts';
import type { Actor } from '../../domain/events.ts';
import type { SandboxRef } from '../../domain/provider.ts';
import type { Transition } from '../../domain/store.ts';
import type { Workspace } from '../../domain/workspace.ts';
import type { Upkeep } from '../upkeep.ts';
import { begin } from './begin.ts';
import type { LifecycleContext } from './context.ts';
import type { Creation } from './creation.ts';
import type { Destruction } from './destruction.ts';
import type { Suspension } from './suspension.ts';

const by = actors.reconciler;

/** The server's own changes of workspaces, by the same ways as those that callers ask for. */
export class UpkeepChanges implements Upkeep {
  readonly #context: LifecycleContext;
  readonly #creation: Creation;
  readonly #suspension: Suspension;
  readonly #destruction: Destruction;

  constructor(
    context: LifecycleContext,
    creation: Creation,
    suspension: Suspension,
    destruction: Destruction,
  ) {
    this.#context = context;
    this.#creation = creation;
    this.#suspension = suspension;
    this.#destruction = destruction;
  }

  async finishCreate(workspace: Workspace): Promise<void> {
    if (workspace.announced) {
      const candidates = { order: [workspace.provider], leftOut: [], explicit: true } as const;
      await this.#creation.run(workspace, candidates, by, new AbortController().signal);
      return;
    }
    const detail = { reason: 'the server that was creating it ended' };
    const transition = { from: ['creating'], to: 'destroying', own: true, by, detail } as const;
    const claimed = await this.#begin(workspace.id, transition);
    if (claimed) await this.#destruction.finish(claimed, by, detail.reason);
  }

  async finishStop(workspace: Workspace): Promise<void> {
    await this.#suspension.finishStop(workspace, by);
  }

  async finishResume(workspace: Workspace): Promise<void> {
    await this.#suspension.finishResume(workspace, by, 'resuming');
  }

  async finishDestroy(workspace: Workspace, why: string, actor: Actor = by): Promise<void> {
    await this.#destruction.finish(workspace, actor, why);
  }

  async restart(workspace: Workspace, why: string): Promise<void> {
    const transition = { from: ['ready'], to: 'resuming', by, detail: { reason: why } } as const;
    const begun = await this.#begin(workspace.id, transition);
    if (begun) await this.#suspension.finishResume(begun, by, 'resuming');
  }

  async stopAgain(workspace: Workspace, why: string): Promise<void> {
    const transition = { from: ['stopped'], to: 'stopping', by, detail: { reason: why } } as const;
    const begun = await this.#begin(workspace.id, transition);
    if (begun) await this.#suspension.finishStop(begun, by);
  }

  async markLost(workspace: Workspace, why: string): Promise<void> {
    const { store, log } = this.#context;
    const changes = { statusReason: why };
    const from = [workspace.status];
    const marked = await store.transition(workspace.id, { from, to: 'error', changes, by });
    if (marked) log.error('a workspace is lost', { workspace: workspace.id, reason: why });
  }

  async removeUnowned(provider: string, ref: SandboxRef): Promise<void> {
    await this.#destruction.removeRef(provider, ref);
  }

  changing(): ReadonlySet<string> {
    return this.#context.changes.ids();
  }

  #begin(id: string, transition: Transition): Promise<Workspace | undefined> {
    return begin(this.#context, id, () => this.#context.store.transition(id, transition));
  }
}
