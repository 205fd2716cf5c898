import type { Actor } from '../../domain/events.ts';
import type { Workspace } from '../../domain/workspace.ts';
import type { LifecycleContext } from './context.ts';

/** What a long start is busy with. */
export interface Progress {
  readonly step: string;
  readonly message: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/**
 * Tells of progress by events of the same status. Writes one at a time; of those that come meanwhile only the newest
 * is worth writing.
 */
export class ProgressEvents {
  readonly #context: LifecycleContext;
  readonly #workspace: Workspace;
  readonly #by: Actor;
  #writing: Promise<void> = Promise.resolve();
  #next: Progress | undefined;

  constructor(context: LifecycleContext, workspace: Workspace, by: Actor) {
    this.#context = context;
    this.#workspace = workspace;
    this.#by = by;
  }

  note(progress: Progress): void {
    const isWaiting = this.#next !== undefined;
    this.#next = progress;
    if (!isWaiting) this.#writing = this.#writing.then(() => this.#write());
  }

  written(): Promise<void> {
    return this.#writing;
  }

  /** A start does not fail for want of an event; whoever took the row meanwhile is found out at its end. */
  async #write(): Promise<void> {
    const progress = this.#next;
    this.#next = undefined;
    if (!progress) return;
    const { store, log } = this.#context;
    const { id, status } = this.#workspace;
    const detail = { step: progress.step, message: progress.message, ...progress.detail };
    try {
      await store.transition(id, { from: [status], to: status, own: true, by: this.#by, detail });
    } catch (error) {
      log.warn('the progress of a start could not be recorded', { workspace: id, err: error });
    }
  }
}
