import type { Clock } from '../base/clock.ts';
import { withDeadline } from '../base/deadline.ts';
import { reasonOf } from '../base/reason.ts';
import { Slots } from '../base/slots.ts';
import { untilAborted } from '../base/until-aborted.ts';
import type { Caller } from '../domain/caller.ts';
import { maySee } from '../domain/caller.ts';
import { EmergentError } from '../domain/errors.ts';
import type { SandboxStats } from '../domain/provider.ts';
import type { WorkspaceStore } from '../domain/store.ts';
import type { Workspace, WorkspaceStatus } from '../domain/workspace.ts';
import type { StatsOperations, StatsReport, WorkspaceUse } from './engine.ts';
import { notFound, wrongState } from './lifecycle/refusals.ts';
import { refOf } from './lifecycle/sandbox-specs.ts';
import type { Providers } from './providers.ts';

export interface StatsOptions {
  readonly store: WorkspaceStore;
  readonly providers: Providers;
  readonly clock: Clock;
}

/** What has something to tell: one that runs, and one that only has files. */
const measurable: readonly WorkspaceStatus[] = ['ready', 'stopped'];
/** How many are answered for at once, and asked of one provider at a time. */
const mostListed = 1_000;
const perProvider = 8;
const pageSize = 200;
/** For one workspace, the wait for its turn included: one that hangs does not hold up a list of many. */
const readingMs = 5_000;
/** All who ask within this time get the same answer. */
const holdsMs = 1_000;
/** A rate is taken since the last reading if that is as old as this, otherwise by another one after a pause. */
const rate = { minMs: 900, maxMs: 15_000, pauseMs: 500 } as const;

interface Reading {
  readonly stats: SandboxStats;
  /** When it came, by the monotonic clock. */
  readonly at: number;
}

interface Shared {
  readonly use: Promise<WorkspaceUse>;
  until: number;
}

/**
 * What workspaces use. Asking is not a use: it neither moves an expiry nor wakes what sleeps. Each workspace is read
 * once for all who ask within a second, and a provider answers a few at a time.
 */
export class Stats implements StatsOperations {
  readonly #options: StatsOptions;
  readonly #slots = new Map<string, Slots>();
  readonly #last = new Map<string, Reading>();
  readonly #shared = new Map<string, Shared>();

  constructor(options: StatsOptions) {
    this.#options = options;
  }

  async get(caller: Caller, id: string, signal: AbortSignal): Promise<WorkspaceUse> {
    const { store } = this.#options;
    const workspace = await store.get(id);
    if (!workspace || !maySee(caller, workspace)) throw notFound(id);
    if (!measurable.includes(workspace.status)) throw wrongState(workspace);
    try {
      return await untilAborted(this.#measure(workspace), signal);
    } catch (error) {
      signal.throwIfAborted();
      // It may be what became of the workspace meanwhile.
      const now = await store.get(id);
      if (!now) throw notFound(id);
      if (!measurable.includes(now.status)) throw wrongState(now);
      throw error;
    }
  }

  async list(caller: Caller, signal: AbortSignal): Promise<StatsReport> {
    const { workspaces, leftOut } = await this.#listed(caller, signal);
    const items = await untilAborted(
      Promise.all(
        workspaces.map((workspace) =>
          this.#measure(workspace).catch((error: unknown) => ({
            ...{ workspace, stats: null, cpuPercent: null },
            reason: reasonOf(error),
          })),
        ),
      ),
      signal,
    );
    return { items, leftOut };
  }

  async #listed(
    caller: Caller,
    signal: AbortSignal,
  ): Promise<{ readonly workspaces: readonly Workspace[]; readonly leftOut: number }> {
    const owner = caller.role === 'admin' ? {} : { owner: caller.tokenId };
    const workspaces: Workspace[] = [];
    let leftOut = 0;
    let cursor: string | undefined;
    do {
      signal.throwIfAborted();
      const at = cursor === undefined ? {} : { cursor };
      const page = await this.#options.store.list({ ...owner, ...at, limit: pageSize });
      for (const workspace of page.items) {
        if (!measurable.includes(workspace.status)) continue;
        if (workspaces.length < mostListed) workspaces.push(workspace);
        else leftOut++;
      }
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    return { workspaces, leftOut };
  }

  #measure(workspace: Workspace): Promise<WorkspaceUse> {
    const { clock } = this.#options;
    const now = clock.monotonic();
    for (const [id, { until }] of this.#shared) if (until < now) this.#shared.delete(id);
    for (const [id, { at }] of this.#last) if (now - at > rate.maxMs) this.#last.delete(id);
    // Another version is another state, such as stopped.
    const key = `${workspace.id} ${String(workspace.version)}`;
    const known = this.#shared.get(key);
    if (known) return known.use;
    const use = withDeadline(`the use of workspace ${workspace.id}`, readingMs, (signal) =>
      this.#use(workspace, signal),
    );
    const shared: Shared = { use, until: Number.POSITIVE_INFINITY };
    this.#shared.set(key, shared);
    const done = (): void => {
      shared.until = clock.monotonic() + holdsMs;
    };
    use.then(done, done);
    return use;
  }

  /** CPU time is a count: its rate takes two readings. */
  async #use(workspace: Workspace, signal: AbortSignal): Promise<WorkspaceUse> {
    const before = this.#last.get(workspace.id);
    const first = await this.#read(workspace, signal);
    const since = before && rateBetween(before, first);
    if (since !== undefined || first.stats.cpuSeconds === null || first.stats.frozen) {
      const resting = first.stats.frozen ? 0 : null;
      return { workspace, stats: first.stats, cpuPercent: since ?? resting };
    }
    await this.#options.clock.sleep(rate.pauseMs, signal);
    const second = await this.#read(workspace, signal);
    return { workspace, stats: second.stats, cpuPercent: rateBetween(first, second, 0) ?? null };
  }

  async #read(workspace: Workspace, signal: AbortSignal): Promise<Reading> {
    const { clock, providers } = this.#options;
    const provider = providers.get(workspace.provider);
    const stats = provider.stats?.bind(provider);
    if (!stats) {
      throw new EmergentError('unsupported', `${provider.name} cannot tell what a workspace uses`);
    }
    const slots = this.#slots.get(provider.name) ?? new Slots(perProvider);
    this.#slots.set(provider.name, slots);
    const told = await slots.use(() => stats(refOf(workspace), signal), signal);
    const reading = { stats: told, at: clock.monotonic() };
    this.#last.set(workspace.id, reading);
    return reading;
  }
}

/** Percent of one core; undefined where the two are no base for it. */
function rateBetween(
  before: Reading,
  after: Reading,
  minMs: number = rate.minMs,
): number | undefined {
  const [from, to] = [before.stats.cpuSeconds, after.stats.cpuSeconds];
  const ms = after.stats.at.getTime() - before.stats.at.getTime();
  // A count that has fallen is one of a sandbox that was started anew.
  if (from === null || to === null || to < from || ms <= minMs) return undefined;
  return ((to - from) * 1000 * 100) / ms;
}
