import { Bell } from '../base/bell.ts';
import type { Clock } from '../base/clock.ts';
import { withDeadline } from '../base/deadline.ts';
import type { Log } from '../base/log.ts';
import { startLoop } from '../base/loop.ts';
import { inParallel } from '../base/parallel.ts';
import { Troubles } from '../base/troubles.ts';
import { requireAdmin } from '../domain/caller.ts';
import type { Caller } from '../domain/caller.ts';
import { EmergentError } from '../domain/errors.ts';
import { planReconcile, unownedOf } from '../domain/reconcile-plan.ts';
import type { Listing, PlanRules } from '../domain/reconcile-plan.ts';
import type {
  ReconcileAction,
  ReconcileOptions,
  ReconcileOutcome,
  ReconcileReport,
} from '../domain/reconcile.ts';
import type { EventStore, McpStore, WorkspaceStore } from '../domain/store.ts';
import type { Workspace } from '../domain/workspace.ts';
import type { UpkeepOperations } from './engine.ts';
import type { Releases } from './lifecycle/releases.ts';
import type { Providers } from './providers.ts';
import { listSandboxes } from './reconcile/listings.ts';
import { outcomeOf, perform } from './reconcile/perform.ts';
import { sweep } from './reconcile/sweep.ts';
import { TakenRows } from './reconcile/taken-rows.ts';
import type { Upkeep } from './upkeep.ts';

export interface ReconcilerOptions {
  readonly store: WorkspaceStore;
  readonly events: EventStore;
  readonly mcp: Pick<McpStore, 'kept'>;
  readonly providers: Providers;
  readonly upkeep: Upkeep;
  readonly releases: Pick<Releases, 'release'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly everyMs?: number;
  /** Younger sandboxes without a row are left alone. */
  readonly graceMs?: number;
}

const defaultEveryMs = 60_000;
const defaultGraceMs = 120_000;
/** While something could not be looked at. */
const retryMs = 5_000;
/** After a run in which something failed, by how many of them there have been in a row. */
const failedPausesMs = [retryMs, 2 * retryMs] as const;
const longestFailedPauseMs = 3 * retryMs;
/** However often it is nudged. */
const leastPauseMs = 1_000;
const actionsAtOnce = 4;
const closeDeadlineMs = 15_000;

type Order = PlanRules & { readonly dryRun: boolean };

/**
 * Compares rows with reality, at the start and every minute, and mends the differences. Runs never overlap.
 * What cannot be looked at is not touched: a provider that cannot be listed blocks its own workspaces, a
 * database that cannot be read blocks everything.
 */
export class Reconciler implements UpkeepOperations, AsyncDisposable {
  readonly #options: ReconcilerOptions;
  readonly #everyMs: number;
  readonly #graceMs: number;
  readonly #troubles: Troubles;
  readonly #stop = new AbortController();
  readonly #nudges = new Bell();
  /** Nudges that the last run, by looking after them, has answered. */
  #answered = 0;
  /** How many in a row had something that failed. */
  #failedRuns = 0;
  /** Runs that wait or go on, by their order. */
  readonly #runs = new Map<string, Promise<ReconcileReport>>();
  #last: Promise<unknown> = Promise.resolve();
  readonly #unknownTold = new Set<string>();
  #loop: Disposable | undefined;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
    this.#everyMs = options.everyMs ?? defaultEveryMs;
    this.#graceMs = options.graceMs ?? defaultGraceMs;
    this.#troubles = new Troubles(options.log);
  }

  /** The first run begins at once. */
  start(): void {
    const { clock, log } = this.#options;
    this.#loop ??= startLoop(
      0,
      (signal) => this.#turn(signal),
      clock,
      (error) => {
        log.error('the reconciler has ended', { err: error });
      },
    );
  }

  async reconcile(caller: Caller, options: ReconcileOptions): Promise<ReconcileReport> {
    requireAdmin(caller);
    return this.#run(options);
  }

  /** Something was found out of order: look soon instead of at the next turn. */
  nudge(workspaceId?: string): void {
    if (workspaceId !== undefined) {
      this.#options.log.debug('reconciling soon', { workspace: workspaceId });
    }
    this.#nudges.ring();
  }

  /** Begins nothing more, and waits a while for what has begun. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#loop?.[Symbol.dispose]();
    this.#stop.abort(new EmergentError('shutting_down', 'the server is stopping'));
    try {
      await withDeadline('the end of reconciling', closeDeadlineMs, () => this.#last);
    } catch (error) {
      this.#options.log.warn('reconciling still went on at shutdown', { err: error });
    }
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const outcome = await this.#runOnce();
    if (outcome === 'fine') {
      this.#failedRuns = 0;
      await clock.sleep(leastPauseMs, signal);
      await this.#nudges.ringAfter(this.#answered, this.#everyMs - leastPauseMs, clock, signal);
    } else if (outcome === 'blocked') {
      await clock.sleep(retryMs, signal);
    } else {
      // Whatever nudges: what has failed does so too.
      const pauseMs = failedPausesMs[this.#failedRuns] ?? longestFailedPauseMs;
      this.#failedRuns += 1;
      await clock.sleep(pauseMs, signal);
    }
  }

  async #runOnce(): Promise<'fine' | 'blocked' | 'failed'> {
    try {
      const { blocked, actions } = await this.#run({ dryRun: false });
      this.#troubles.over('run', 'reconciling works again');
      if (blocked.length > 0) return 'blocked';
      return actions.some(({ result }) => result === 'failed') ? 'failed' : 'fine';
    } catch (error) {
      if (!this.#stop.signal.aborted) {
        this.#troubles.note('run', 'reconciling failed; it is tried again', error);
      }
      return 'blocked';
    }
  }

  /** One at a time. Whoever wants what already waits or goes on shares it. */
  #run({ dryRun, minAgeMs, includeUnknown }: ReconcileOptions): Promise<ReconcileReport> {
    const order: Order = {
      dryRun,
      minAgeMs: minAgeMs ?? this.#graceMs,
      includeUnknown: includeUnknown ?? false,
    };
    const key = JSON.stringify(order);
    const same = this.#runs.get(key);
    if (same) return same;
    const run = this.#last
      .then(() => this.#once(order))
      .finally(() => {
        this.#runs.delete(key);
      });
    this.#runs.set(key, run);
    this.#last = run.catch(() => undefined);
    return run;
  }

  async #once(order: Order): Promise<ReconcileReport> {
    const { store, providers, log } = this.#options;
    const { dryRun, minAgeMs } = order;
    const { signal } = this.#stop;
    signal.throwIfAborted();
    if (!dryRun) this.#answered = this.#nudges.rings;
    // In this order, or what is being made looks lost and what is being removed looks unowned:
    // 1. The rows, for their versions: a row that changes during 2. is not compared with what was found in it.
    // 2. The sandboxes.
    // 3. Abandoned rows, and then all rows: the row is written before its sandbox and removed after it, so a
    //    sandbox that was there in 2. and has no row now is really nobody's.
    // 4. Which of those the log knows.
    const before = await store.all();
    const listings = await listSandboxes(providers, signal);
    signal.throwIfAborted();
    const blocked = this.#blocked(listings);
    const actions = await this.#mend(order, before, listings);
    const listed = [...listings].filter(([, { state }]) => state === 'listed');
    const options = {
      ...{ dryRun, log, troubles: this.#troubles, signal },
      // Providers have graces of their own; only a caller who wants less than ours wants less of those.
      ...(minAgeMs < this.#graceMs && { minAgeMs }),
    };
    const swept = listed.map(([name]) => sweep(providers.get(name), options));
    return { dryRun, actions, leftovers: (await Promise.all(swept)).flat(), blocked };
  }

  async #mend(
    order: Order,
    before: readonly Workspace[],
    found: ReadonlyMap<string, Listing>,
  ): Promise<readonly ReconcileOutcome[]> {
    const { store, events, mcp, upkeep, clock } = this.#options;
    const usable = ({ provider }: Workspace): boolean =>
      (found.get(provider)?.state ?? 'failed') !== 'failed';
    await using taken = await TakenRows.take(this.#options, order.dryRun, usable);
    const rows = await store.all();
    // After the rows: what a removed one has left to keep is noted when it goes. One that is taken up just then has a
    // row again, which is looked for before anything is removed.
    const kept = new Set((await mcp.kept()).map(({ id }) => id));
    const listings = without(kept, found);
    const unowned = unownedOf(rows, listings).map(([, { workspaceId }]) => workspaceId);
    const known = unowned.length === 0 ? new Set<string>() : await events.known(unowned);
    const actions = planReconcile(
      {
        rows,
        abandoned: taken.rows,
        settled: unchanged(before, rows),
        listings,
        known,
        changing: upkeep.changing(),
        now: clock.now(),
      },
      order,
    );
    if (order.dryRun) return actions.map((action) => outcomeOf(action, null));
    this.#tellUnknown(actions);
    const means = { ...this.#options, taken, signal: this.#stop.signal };
    return await inParallel(actionsAtOnce, actions, (action) => perform(action, means));
  }

  #blocked(listings: ReadonlyMap<string, Listing>): ReconcileReport['blocked'] {
    return [...listings].flatMap(([provider, listing]) => {
      const about = `listing ${provider}`;
      if (listing.state !== 'failed') {
        this.#troubles.over(about, `the sandboxes of ${provider} can be listed again`);
        return [];
      }
      const message = `the sandboxes of ${provider} cannot be listed; they are left alone`;
      this.#troubles.note(about, message, listing.reason);
      return [{ provider, reason: listing.reason }];
    });
  }

  #tellUnknown(actions: readonly ReconcileAction[]): void {
    for (const { kind, workspaceId: workspace, provider, why } of actions) {
      if (kind !== 'keep_unknown' || this.#unknownTold.has(workspace)) continue;
      this.#unknownTold.add(workspace);
      this.#options.log.warn('found a sandbox of an unknown workspace', {
        workspace,
        provider,
        why,
      });
    }
  }
}

/** Rows that had the same version before. */
function unchanged(before: readonly Workspace[], now: readonly Workspace[]): ReadonlySet<string> {
  const versions = new Map(before.map(({ id, version }) => [id, version]));
  return new Set(now.filter(({ id, version }) => versions.get(id) === version).map(({ id }) => id));
}

function without(
  ids: ReadonlySet<string>,
  listings: ReadonlyMap<string, Listing>,
): ReadonlyMap<string, Listing> {
  return new Map(
    [...listings].map(([provider, listing]) => [
      provider,
      listing.state === 'listed'
        ? { ...listing, found: listing.found.filter(({ workspaceId }) => !ids.has(workspaceId)) }
        : listing,
    ]),
  );
}
