import type {
  NewWorkspace,
  TokenStore,
  WorkspaceChanges,
  WorkspacePage,
  WorkspaceQuery,
  WorkspaceStore,
} from '../../../../src/domain/store.ts';
import type { NewToken, Token } from '../../../../src/domain/token.ts';
import type { Workspace, WorkspaceStatus } from '../../../../src/domain/workspace.ts';

/** Rows in a map, with the compare-and-set that the contract asks for. */
export class MemoryWorkspaceStore implements WorkspaceStore {
  readonly rows = new Map<string, Workspace>();

  async insert(workspace: NewWorkspace): Promise<Workspace> {
    if (this.rows.has(workspace.id)) throw new Error(`duplicate id ${workspace.id}`);
    const row = { ...workspace, statusReason: null, version: 1 };
    this.rows.set(row.id, row);
    return row;
  }

  async get(id: string): Promise<Workspace | undefined> {
    return this.rows.get(id);
  }

  async list(query: WorkspaceQuery): Promise<WorkspacePage> {
    const items = [...this.rows.values()].filter(
      (row) => query.owner === undefined || row.owner === query.owner,
    );
    return { items: items.slice(0, query.limit), nextCursor: null };
  }

  async transition(
    id: string,
    from: readonly WorkspaceStatus[],
    to: WorkspaceStatus,
    changes: WorkspaceChanges = {},
  ): Promise<Workspace | undefined> {
    const row = this.rows.get(id);
    if (!row || !from.includes(row.status)) return undefined;
    const changed = { ...row, ...changes, status: to, version: row.version + 1 };
    this.rows.set(id, changed);
    return changed;
  }

  async remove(id: string, from: readonly WorkspaceStatus[]): Promise<boolean> {
    const row = this.rows.get(id);
    return row !== undefined && from.includes(row.status) && this.rows.delete(id);
  }

  async countByProvider(): Promise<ReadonlyMap<string, number>> {
    const counts = new Map<string, number>();
    for (const { provider } of this.rows.values()) {
      counts.set(provider, (counts.get(provider) ?? 0) + 1);
    }
    return counts;
  }
}

/** Hashes are unique, also among those of revoked tokens. */
export class MemoryTokenStore implements TokenStore {
  readonly rows: (Token & NewToken)[] = [];

  async insert(token: NewToken): Promise<Token> {
    if (await this.findByHash(token.hash)) throw new Error('duplicate hash');
    const row = { ...token, revokedAt: null };
    this.rows.push(row);
    return row;
  }

  async findByHash(hash: string): Promise<Token | undefined> {
    return this.rows.find((row) => row.hash === hash && row.revokedAt === null);
  }

  async list(): Promise<readonly Token[]> {
    return this.rows;
  }

  async revoke(id: string, at: Date): Promise<boolean> {
    const index = this.rows.findIndex((row) => row.id === id && row.revokedAt === null);
    const row = this.rows[index];
    if (!row) return false;
    this.rows[index] = { ...row, revokedAt: at };
    return true;
  }
}
