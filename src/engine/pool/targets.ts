import { reasonOf } from '../../base/reason.ts';
import type { SelectionRules } from '../../domain/selection.ts';
import { differences, poolKeyOf } from '../../domain/warm-pool.ts';
import type { PoolShape, StoredPool } from '../../domain/warm-pool.ts';
import type { Providers } from '../providers.ts';
import type { Fingerprints } from './fingerprints.ts';

export interface TargetsOptions {
  readonly providers: Providers;
  readonly fingerprints: Fingerprints;
  readonly rules: SelectionRules;
  /** Of this server; the sandboxes of a pool that another version configured are left to that. */
  readonly release: string;
}

/** One pool and what its members should be now. */
export interface Target {
  readonly pool: StoredPool;
  /** Where its members belong; null while no provider can be chosen. */
  readonly provider: string | null;
  /** Of members that are up to date; null while that cannot be told. */
  readonly key: string | null;
  /** Why no members can be made here now; null: they can. */
  readonly obstacle: string | null;
}

/** What the members of every pool should be, as it was last found out: a create asks without waiting. */
export class Targets {
  readonly #options: TargetsOptions;
  #known: readonly Target[] = [];

  constructor(options: TargetsOptions) {
    this.#options = options;
  }

  get all(): readonly Target[] {
    return this.#known;
  }

  async refresh(pools: readonly StoredPool[]): Promise<readonly Target[]> {
    const found = await Promise.all(pools.map((pool) => this.#find(pool)));
    this.#known = found;
    return found;
  }

  /** How many members of this key there should be. */
  sizeOf(key: string): number {
    return this.#known.find((target) => target.key === key)?.pool.size ?? 0;
  }

  /** The pool for such a request; without one, in what the nearest differs. */
  match(wanted: PoolShape): Target | { readonly differs: readonly string[] } {
    const compared = this.#known
      .filter(({ pool }) => pool.size > 0)
      .map((target) => ({ target, differs: differences(target.pool.definition, wanted) }))
      .toSorted((a, b) => a.differs.length - b.differs.length);
    const [nearest] = compared;
    return nearest?.differs.length === 0 ? nearest.target : { differs: nearest?.differs ?? [] };
  }

  async #find(pool: StoredPool): Promise<Target> {
    const nowhere = { pool, provider: null, key: null };
    if (pool.size === 0) return { ...nowhere, obstacle: null };
    const chosen = await this.#provider(pool.definition.provider);
    if ('obstacle' in chosen) return { ...nowhere, ...chosen };
    const { provider } = chosen;
    const { definition, release } = pool;
    const { providers, fingerprints } = this.#options;
    try {
      const fingerprint = await fingerprints.of(providers.get(provider), definition.image);
      const key = poolKeyOf(provider, definition, fingerprint, release);
      const foreign = `version ${release} of the server keeps this pool`;
      const obstacle = release === this.#options.release ? null : foreign;
      return { pool, provider, key, obstacle };
    } catch (error) {
      return { pool, provider, key: null, obstacle: reasonOf(error) };
    }
  }

  /** By the providers' health as it is known; one that just failed a create is still the one. */
  async #provider(
    wanted: string,
  ): Promise<{ readonly provider: string } | { readonly obstacle: string }> {
    const { providers, rules } = this.#options;
    if (wanted !== 'auto') {
      const health = await providers.lastHealthOf(wanted);
      return health.state === 'healthy' ? { provider: wanted } : { obstacle: health.reason };
    }
    const { order, leftOut } = await providers.decideForLong(rules);
    const [provider] = order;
    if (provider !== undefined) return { provider };
    const reasons = leftOut.map(({ name, reason }) => `${name}: ${reason}`).join('; ');
    return { obstacle: `no provider can create a workspace: ${reasons}` };
  }
}
