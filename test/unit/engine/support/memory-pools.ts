import { noticeOwner, type Actor } from '../../../../src/domain/events.ts';
import type { NewWorkspace, PoolStore, Refused } from '../../../../src/domain/store.ts';
import type { PoolDefinition, StoredPool } from '../../../../src/domain/warm-pool.ts';
import type { Workspace } from '../../../../src/domain/workspace.ts';
import type { MemoryWorkspaceStore } from './memory-store.ts';

/** The pools of a store's database: their members are its rows. */
export class MemoryPoolStore implements PoolStore {
  /** By name. Servers on one database share the map of one of them. */
  readonly pools: Map<string, StoredPool>;
  readonly #store: MemoryWorkspaceStore;

  constructor(store: MemoryWorkspaceStore, on?: MemoryPoolStore) {
    this.#store = store;
    this.pools = on?.pools ?? new Map<string, StoredPool>();
  }

  async configure(
    pools: readonly PoolDefinition[],
    release: string,
  ): Promise<readonly StoredPool[]> {
    const before = new Map(this.pools);
    this.pools.clear();
    for (const definition of pools) {
      const known = before.get(definition.name);
      const size = known?.definition.size === definition.size ? known.size : definition.size;
      this.pools.set(definition.name, { definition, size, release });
    }
    return this.list();
  }

  async list(): Promise<readonly StoredPool[]> {
    return [...this.pools.values()].toSorted((a, b) =>
      a.definition.name < b.definition.name ? -1 : 1,
    );
  }

  async resize(name: string, size: number, by: Actor): Promise<StoredPool | undefined> {
    const before = this.pools.get(name);
    if (!before) return undefined;
    const resized = { ...before, size };
    this.pools.set(name, resized);
    const { events, clock } = this.#store;
    if (size !== before.size) {
      events.append({
        at: clock.now(),
        workspaceId: null,
        owner: noticeOwner,
        actor: by,
        type: 'pool.resized',
        detail: { pool: name, from: before.size, to: size },
      });
    }
    return resized;
  }

  async members(): Promise<readonly Workspace[]> {
    return [...this.#store.rows.values()].filter(({ pool }) => pool !== null).toSorted(older);
  }

  async reserve(member: NewWorkspace, size: number): Promise<Workspace | undefined> {
    const members = [...this.#store.rows.values()].filter(
      ({ pool, poolKey, status }) =>
        pool === member.pool &&
        poolKey === member.poolKey &&
        (status === 'creating' || status === 'warm'),
    );
    return members.length < size ? this.#store.insert(member) : undefined;
  }

  async claim(
    key: string,
    workspace: NewWorkspace,
    limit: number,
  ): Promise<Workspace | Refused | undefined> {
    const [chosen] = [...this.#store.rows.values()]
      .filter(({ status, poolKey }) => status === 'warm' && poolKey === key)
      .toSorted(older);
    if (!chosen) return undefined;
    const refused = this.#store.refusal(chosen, limit);
    if (refused) return refused;
    this.#store.claimedAs.set(workspace.id, chosen.id);
    const claimed = claimedRow(chosen, workspace);
    this.#store.keep(claimed);
    const { owner, provider, image } = claimed;
    this.#store.events.appendChange(claimed, this.#store.clock.now(), owner, 'workspace.creating', {
      provider,
      image,
      warm_pool: chosen.pool,
    });
    return claimed;
  }
}

/** The sandbox as it was made, with what the request says of its user. */
function claimedRow(member: Workspace, workspace: NewWorkspace): Workspace {
  return {
    ...workspace,
    id: member.id,
    containerType: member.containerType,
    provider: member.provider,
    providerWorkspaceId: member.providerWorkspaceId,
    image: member.image,
    network: member.network,
    resourceLimits: member.resourceLimits,
    snapshotId: member.snapshotId,
    mcpConfig: member.mcpConfig,
    metadata: { ...workspace.metadata, ...member.metadata, warm_pool: member.pool },
    status: 'creating',
    statusReason: null,
    readyAt: null,
    pool: null,
    poolKey: null,
    version: member.version + 1,
  };
}

function older(a: Workspace, b: Workspace): number {
  return a.createdAt.getTime() - b.createdAt.getTime() || (a.id < b.id ? -1 : 1);
}
