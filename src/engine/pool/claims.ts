import { withDeadline } from '../../base/deadline.ts';
import type { Log } from '../../base/log.ts';
import type { NewWorkspace, PoolStore, Refused } from '../../domain/store.ts';
import { missReasons } from '../../domain/warm-pool.ts';
import type { MissReason, PoolCounts } from '../../domain/warm-pool.ts';
import type { Workspace } from '../../domain/workspace.ts';
import type { Adoption } from '../lifecycle/adoption.ts';
import type { Releases } from '../lifecycle/releases.ts';
import type { NextUp } from './next-up.ts';
import type { Targets } from './targets.ts';

export interface ClaimsOptions {
  readonly pools: Pick<PoolStore, 'claim'>;
  readonly targets: Targets;
  readonly nextUp: NextUp;
  readonly releases: Pick<Releases, 'release'>;
  readonly maxConcurrent: number;
  readonly log: Log;
  /** Resolves when the pools have been looked at once; undefined: they have, or nobody does. */
  readonly firstLook: () => Promise<void> | undefined;
  /** A member was taken. */
  readonly onTaken: () => void;
}

const firstLookMs = 1_000;

/** Hands out sandboxes that wait, and counts when there was none and why. */
export class Claims implements Adoption {
  readonly #options: ClaimsOptions;
  readonly #hits = new Map<string, number>();
  readonly #misses = new Map<MissReason, number>(missReasons.map((reason) => [reason, 0]));

  constructor(options: ClaimsOptions) {
    this.#options = options;
  }

  /**
   * The row of a sandbox that was waiting for such a workspace, on the very provider that it would be made by: in
   * status `creating`, this server its operator. Undefined: none, it must be made.
   */
  async claim(wanted: NewWorkspace): Promise<Workspace | Refused | undefined> {
    const { targets, onTaken } = this.#options;
    await this.#firstLook();
    if (targets.all.every(({ pool }) => pool.size === 0)) return undefined;
    const { image, resourceLimits: limits, network } = wanted;
    const match = targets.match({ image, limits, network });
    if ('differs' in match) {
      this.#missed('no_pool', `no pool has such sandboxes: ${match.differs.join(', ')}`);
      return undefined;
    }
    const { pool, provider, key } = match;
    const { name } = pool.definition;
    if (provider !== null && provider !== wanted.provider) {
      const why = `the pool ${name} is on ${provider}, the workspace on ${wanted.provider}`;
      this.#missed('provider', why);
      return undefined;
    }
    const claimed = key === null ? undefined : await this.#take(key, wanted);
    if (!claimed) this.#missed('empty', `none waits in the pool ${name}`);
    else if (!('running' in claimed)) onTaken();
    return claimed;
  }

  /** One that was claimed is its caller's. */
  adopted({ metadata }: Workspace): void {
    const pool = String(metadata['warm_pool']);
    this.#hits.set(pool, (this.#hits.get(pool) ?? 0) + 1);
  }

  /** One that was claimed did not answer: what its caller gets is made instead. */
  dead({ id, provider }: Workspace, why: string): void {
    this.#count('dead');
    const message = 'warm pool miss: the sandbox that waited is dead';
    this.#options.log.warn(message, { workspace: id, provider, reason: why });
  }

  get counts(): PoolCounts {
    return {
      hits: Object.fromEntries(this.#hits),
      misses: Object.fromEntries(this.#misses) as Record<MissReason, number>,
    };
  }

  /** What waits since before a restart is worth a moment. */
  async #firstLook(): Promise<void> {
    const looking = this.#options.firstLook();
    if (!looking) return;
    await withDeadline('the first look at the warm pool', firstLookMs, () => looking).catch(
      () => undefined,
    );
  }

  async #take(key: string, wanted: NewWorkspace): Promise<Workspace | Refused | undefined> {
    const { pools, nextUp, releases, maxConcurrent } = this.#options;
    nextUp.rouse(key);
    try {
      return await pools.claim(key, wanted, maxConcurrent);
    } catch (error) {
      // One may be ours now, and nobody works on it: whoever takes it over undoes it.
      await releases.release(wanted.id);
      throw error;
    }
  }

  #missed(reason: MissReason, why: string): void {
    this.#count(reason);
    this.#options.log.info(`warm pool miss: ${why}`, { reason });
  }

  #count(reason: MissReason): void {
    this.#misses.set(reason, (this.#misses.get(reason) ?? 0) + 1);
  }
}
