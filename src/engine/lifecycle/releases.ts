import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { WorkspaceStore } from '../../domain/store.ts';
import type { RunningChanges } from './running-changes.ts';

const againMs = 2_000;

/**
 * Gives up rows that this server has begun to change and cannot finish, so that the reconciler, here or on
 * another server, takes them over. A database that does not answer is told when it is back: until then this
 * server would count as at work on them.
 */
export class Releases implements Disposable {
  readonly #store: Pick<WorkspaceStore, 'release'>;
  readonly #changes: Pick<RunningChanges, 'ids'>;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #untold = new Set<string>();
  readonly #stop = new AbortController();
  #telling = false;
  /** A row was given up: somebody should look soon. */
  onRelease: () => void = () => undefined;

  constructor(
    store: Pick<WorkspaceStore, 'release'>,
    changes: Pick<RunningChanges, 'ids'>,
    clock: Clock,
    log: Log,
  ) {
    this.#store = store;
    this.#changes = changes;
    this.#clock = clock;
    this.#log = log;
  }

  async release(id: string): Promise<void> {
    try {
      await this.#store.release(id);
      this.onRelease();
    } catch (error) {
      this.#log.warn('a workspace could not be released yet', { workspace: id, err: error });
      this.#untold.add(id);
      if (!this.#telling) void this.#tellLater();
    }
  }

  async #tellLater(): Promise<void> {
    this.#telling = true;
    try {
      while (this.#untold.size > 0) {
        await this.#clock.sleep(againMs, this.#stop.signal);
        await this.#tell();
      }
    } catch {
      // Stopped: a server that is gone works on nothing.
    } finally {
      this.#telling = false;
    }
  }

  async #tell(): Promise<void> {
    for (const id of this.#untold) {
      try {
        // A change that has begun since holds the row rightly.
        if (!this.#changes.ids().has(id)) await this.#store.release(id);
        this.#untold.delete(id);
        this.onRelease();
      } catch {
        // Said when it first failed.
        return;
      }
    }
  }

  [Symbol.dispose](): void {
    this.#stop.abort(new Error('stopped'));
  }
}
