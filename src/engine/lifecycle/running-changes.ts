import { withDeadline } from '../../base/deadline.ts';
import type { ChangingStatus, Workspace } from '../../domain/workspace.ts';

/** A change that this process is making; it answers with the row as it left it, undefined where none is left. */
export interface RunningChange {
  readonly kind: ChangingStatus;
  readonly done: Promise<Workspace | undefined>;
}

interface Entry extends RunningChange {
  readonly abort: AbortController;
}

/** How long a change that was called off gets to put things in order. */
const callOffMs = 15_000;

/** The changes that this process is making: at most one of each workspace, known to whoever comes second. */
export class RunningChanges {
  readonly #running = new Map<string, Entry>();

  find(id: string, kind: ChangingStatus): RunningChange | undefined {
    const running = this.#running.get(id);
    return running?.kind === kind ? running : undefined;
  }

  ids(): ReadonlySet<string> {
    return new Set(this.#running.keys());
  }

  /** Runs `work` as the workspace's change; its signal aborts when a destroy calls it off. */
  run<T extends Workspace | undefined>(
    id: string,
    kind: ChangingStatus,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const abort = new AbortController();
    const done = work(abort.signal).finally(() => {
      if (this.#running.get(id) === entry) this.#running.delete(id);
    });
    const entry: Entry = { kind, done, abort };
    this.#running.set(id, entry);
    return done;
  }

  /** Ends what runs on the workspace and waits until it has; what does not end in time is left behind. */
  async callOff(id: string, why: Error): Promise<void> {
    const running = this.#running.get(id);
    if (!running) return;
    running.abort.abort(why);
    await withDeadline('the end of a change that was called off', callOffMs, () =>
      running.done.catch(() => undefined),
    ).catch(() => undefined);
  }

  /** Resolves when nothing runs any more, or after `ms`. */
  async drain(ms: number): Promise<void> {
    await withDeadline('the end of running changes', ms, async () => {
      while (this.#running.size > 0) {
        await Promise.allSettled([...this.#running.values()].map(({ done }) => done));
      }
    }).catch(() => undefined);
  }
}
