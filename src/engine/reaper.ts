import type { Clock } from '../base/clock.ts';
import { withDeadline } from '../base/deadline.ts';
import type { Log } from '../base/log.ts';
import { startLoop } from '../base/loop.ts';
import { inParallel } from '../base/parallel.ts';
import { actors } from '../domain/events.ts';
import type { EventStore, WorkspaceStore } from '../domain/store.ts';
import type { Workspace } from '../domain/workspace.ts';
import type { Releases } from './lifecycle/releases.ts';
import type { Upkeep } from './upkeep.ts';

export interface ReaperOptions {
  readonly store: Pick<WorkspaceStore, 'claimExpired' | 'all'>;
  readonly events: Pick<EventStore, 'prune'>;
  readonly upkeep: Pick<Upkeep, 'finishDestroy' | 'changing'>;
  readonly releases: Pick<Releases, 'release'>;
  /** Ids of workspaces with operations in flight on this server. */
  readonly busy: () => readonly string[];
  readonly clock: Clock;
  readonly log: Log;
  /** How long events are kept. */
  readonly retentionSeconds: number;
}

const everyMs = 30_000;
const pruneEveryMs = 3_600_000;
const claimAtOnce = 8;
const destroyAtOnce = 4;
const closeDeadlineMs = 15_000;

/**
 * Destroys workspaces whose time has come, and removes old events. The claim is the database's: of several
 * servers one gets each row. A destroy that fails leaves its row `destroying`, for the reconciler.
 */
export class Reaper implements AsyncDisposable {
  readonly #options: ReaperOptions;
  #running: Promise<void> | undefined;
  /** The answer to a claim was lost: rows may have been claimed that nobody here knows of. */
  #claimInDoubt = false;
  #pruneDue = 0;
  #stopping = false;
  #loop: Disposable | undefined;

  constructor(options: ReaperOptions) {
    this.#options = options;
  }

  /** The first run comes after the first pause, when the reconciler has looked around. */
  start(): void {
    const { clock, log } = this.#options;
    this.#loop ??= startLoop(
      everyMs,
      () => this.run(),
      clock,
      (error) => {
        log.error('the reaper has ended', { err: error });
      },
    );
  }

  /** Shared by all who ask while it goes on. Failures go to the log. */
  run(): Promise<void> {
    this.#running ??= this.#once().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Claims nothing more, and waits a while for what it is destroying. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#loop?.[Symbol.dispose]();
    this.#stopping = true;
    try {
      await withDeadline('the end of reaping', closeDeadlineMs, async () => this.#running);
    } catch (error) {
      this.#options.log.warn('reaping still went on at shutdown', { err: error });
    }
  }

  async #once(): Promise<void> {
    const { log } = this.#options;
    try {
      await this.#reap();
    } catch (error) {
      log.warn('expired workspaces could not be looked for', { err: error });
    }
    try {
      await this.#prune();
    } catch (error) {
      log.warn('old events could not be removed', { err: error });
    }
  }

  async #reap(): Promise<void> {
    if (this.#claimInDoubt) await this.#giveBack();
    while (!this.#stopping) {
      const claimed = await this.#claim();
      if (claimed.length === 0) return;
      await inParallel(destroyAtOnce, claimed, (workspace) => this.#destroy(workspace));
    }
  }

  async #claim(): Promise<readonly Workspace[]> {
    const { store, busy, clock } = this.#options;
    this.#claimInDoubt = true;
    const claimed = await store.claimExpired(clock.now(), busy(), claimAtOnce);
    this.#claimInDoubt = false;
    return claimed;
  }

  /** This server lives, so what it has claimed without knowing is nobody else's: the reconciler may have it. */
  async #giveBack(): Promise<void> {
    const { store, upkeep, releases, clock } = this.#options;
    const now = clock.now();
    for (const { id, status, expiresAt } of await store.all()) {
      const claimed = status === 'destroying' && expiresAt !== null && expiresAt <= now;
      if (claimed && !upkeep.changing().has(id)) await releases.release(id);
    }
  }

  async #destroy(workspace: Workspace): Promise<void> {
    const { upkeep, releases, log } = this.#options;
    const { id, provider, expiresAt } = workspace;
    if (this.#stopping) return releases.release(id);
    try {
      await upkeep.finishDestroy(workspace, 'expired', actors.reaper);
      const expired = expiresAt?.toISOString();
      log.info('destroyed an expired workspace', { workspace: id, provider, expired_at: expired });
    } catch (error) {
      const message = 'an expired workspace could not be destroyed; the reconciler goes on with it';
      log.warn(message, { workspace: id, provider, err: error });
    }
  }

  async #prune(): Promise<void> {
    const { events, clock, retentionSeconds, log } = this.#options;
    if (this.#stopping || clock.monotonic() < this.#pruneDue) return;
    const before = new Date(clock.now().getTime() - retentionSeconds * 1_000);
    const removed = await events.prune(before);
    this.#pruneDue = clock.monotonic() + pruneEveryMs;
    if (removed > 0) log.info('removed old events', { removed, before: before.toISOString() });
  }
}
