import type { Actor } from '../../../../src/domain/events.ts';
import type { KeptVolumes, McpState } from '../../../../src/domain/mcp.ts';
import type { McpStore } from '../../../../src/domain/store.ts';
import type { Workspace } from '../../../../src/domain/workspace.ts';
import type { MemoryWorkspaceStore } from './memory-store.ts';

/** The MCP servers of a store's database: they are its rows, and its server numbers host them. */
export class MemoryMcpStore implements McpStore {
  readonly #store: MemoryWorkspaceStore;

  constructor(store: MemoryWorkspaceStore) {
    this.#store = store;
  }

  get hosts(): Map<string, number> {
    return this.#store.mcp.hosts;
  }

  async servers(): Promise<readonly Workspace[]> {
    return [...this.#store.rows.values()]
      .filter(({ containerType }) => containerType === 'mcp_server')
      .toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime() || (a.id < b.id ? -1 : 1));
  }

  async find(name: string, owner?: string): Promise<readonly Workspace[]> {
    return (await this.servers()).filter(
      (row) => row.mcpConfig?.name === name && (owner === undefined || row.owner === owner),
    );
  }

  async states(ids?: readonly string[]): Promise<ReadonlyMap<string, McpState>> {
    return new Map(
      [...this.#store.mcp.states].filter(([id]) => ids === undefined || ids.includes(id)),
    );
  }

  async saveState(id: string, state: McpState): Promise<boolean> {
    if (this.hosts.get(id) !== this.#store.server) return false;
    this.#store.mcp.states.set(id, state);
    return true;
  }

  async claimHosting(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const elsewhere = await this.hostedElsewhere(ids);
    const mine = (await this.servers())
      .map(({ id }) => id)
      .filter((id) => ids.includes(id) && !elsewhere.has(id));
    for (const id of mine) this.hosts.set(id, this.#store.server);
    return new Set(mine);
  }

  async releaseHosting(ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      if (this.hosts.get(id) === this.#store.server) this.hosts.delete(id);
    }
  }

  async hostedElsewhere(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const { alive, server } = this.#store;
    return new Set(
      ids.filter((id) => {
        const host = this.hosts.get(id);
        return host !== undefined && host !== server && alive.has(host);
      }),
    );
  }

  async removeKeeping(
    id: string,
    by: Actor,
    detail: Readonly<Record<string, unknown>> = {},
  ): Promise<boolean> {
    const row = this.#store.rows.get(id);
    if (!row?.mcpConfig || !(await this.#store.remove(id, by, detail))) return false;
    const { owner, provider, providerWorkspaceId: sandboxName } = row;
    const { name, volumes: paths } = row.mcpConfig;
    const keptAt = this.#store.clock.now();
    if (paths.length > 0) {
      this.#store.mcp.kept.set(id, { id, owner, name, provider, sandboxName, paths, keptAt });
    }
    return true;
  }

  async kept(owner?: string): Promise<readonly KeptVolumes[]> {
    return [...this.#store.mcp.kept.values()].filter(
      (kept) => owner === undefined || kept.owner === owner,
    );
  }

  async forgetKept(id: string): Promise<boolean> {
    return this.#store.mcp.kept.delete(id);
  }
}
