import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { startLoop } from '../base/loop.ts';
import type { WorkspaceStore } from '../domain/store.ts';

/** The shortest TTL is a minute: a workspace in use is noted at least three times within it. */
const noteEveryMs = 15_000;

/**
 * The operations that run now, by workspace. As long as one runs, its workspace is noted as used again and
 * again, so that no server's reaper finds it expired; if this server dies, the notes stop and the TTL runs.
 */
export class Activity implements Disposable {
  readonly #store: WorkspaceStore;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #running = new Map<string, number>();
  readonly #loop: Disposable;

  constructor(store: WorkspaceStore, clock: Clock, log: Log) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.#loop = startLoop(
      noteEveryMs,
      () => this.#note(),
      clock,
      (error) => {
        log.error('noting the use of workspaces ended', { err: error });
      },
    );
  }

  /** The returned function says that the operation has ended. */
  begin(id: string): () => void {
    this.#running.set(id, (this.#running.get(id) ?? 0) + 1);
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      const left = (this.#running.get(id) ?? 1) - 1;
      if (left === 0) this.#running.delete(id);
      else this.#running.set(id, left);
    };
  }

  /** Workspaces with an operation in progress. */
  busy(): readonly string[] {
    return [...this.#running.keys()];
  }

  get operations(): number {
    return this.#running.values().reduce((sum, count) => sum + count, 0);
  }

  async #note(): Promise<void> {
    for (const id of this.busy()) {
      try {
        await this.#store.touch(id, this.#clock.now());
      } catch (error) {
        this.#log.warn('the use of a workspace could not be noted', { workspace: id, err: error });
      }
    }
  }

  [Symbol.dispose](): void {
    this.#loop[Symbol.dispose]();
  }
}
