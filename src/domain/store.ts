import type { Token, NewToken } from './token.ts';
import type { ContainerType, Workspace, WorkspaceStatus } from './workspace.ts';

export type NewWorkspace = Omit<Workspace, 'version' | 'statusReason'>;

/** The columns that a status change may set together with the status. */
export type WorkspaceChanges = Partial<
  Pick<
    Workspace,
    | 'statusReason'
    | 'resourceLimits'
    | 'metadata'
    | 'lastUsedAt'
    | 'expiresAt'
    | 'desiredState'
    | 'providerWorkspaceId'
    | 'snapshotId'
  >
>;

export interface WorkspaceQuery {
  readonly owner?: string;
  readonly status?: WorkspaceStatus;
  readonly provider?: string;
  readonly containerType?: ContainerType;
  readonly limit: number;
  /** From an earlier page's `nextCursor`; an unreadable one is an `invalid_value`. */
  readonly cursor?: string;
}

/** Newest first. */
export interface WorkspacePage {
  readonly items: readonly Workspace[];
  readonly nextCursor: string | null;
}

/** What all servers on one database share: they are one installation and own the same sandboxes. */
export interface Installation {
  /** On every container and volume that it made. */
  readonly id: string;
  /** 32 secret bytes from which the access tokens of sandboxes are derived. */
  readonly key: Uint8Array;
}

/**
 * The state of the system. Implementations run on PostgreSQL; every call has a deadline and fails with
 * `store_unavailable` when the database cannot answer.
 */
export interface Store extends AsyncDisposable {
  readonly workspaces: WorkspaceStore;
  readonly tokens: TokenStore;
  /** Made at the first call on a new database. */
  installation(): Promise<Installation>;
  /** Which database this is, for doctor and health: "PGlite 17.5 in /path" or "PostgreSQL 15.18". */
  describe(): Promise<string>;
}

export interface WorkspaceStore {
  insert(workspace: NewWorkspace): Promise<Workspace>;
  get(id: string): Promise<Workspace | undefined>;
  list(query: WorkspaceQuery): Promise<WorkspacePage>;
  /**
   * Compare-and-set: changes the row only if its status is one of `from`, raising its version; undefined
   * when it is not, or when there is no such row.
   */
  transition(
    id: string,
    from: readonly WorkspaceStatus[],
    to: WorkspaceStatus,
    changes?: WorkspaceChanges,
  ): Promise<Workspace | undefined>;
  /** Removes the row if its status is one of `from`; tells whether it did. */
  remove(id: string, from: readonly WorkspaceStatus[]): Promise<boolean>;
  /** How many workspaces each provider holds, in every state but `destroying`. */
  countByProvider(): Promise<ReadonlyMap<string, number>>;
}

export interface TokenStore {
  insert(token: NewToken): Promise<Token>;
  /** By the SHA-256 of the secret, hex; revoked tokens are not found. */
  findByHash(hash: string): Promise<Token | undefined>;
  list(): Promise<readonly Token[]>;
  /** False when there is no live token with this id. */
  revoke(id: string, at: Date): Promise<boolean>;
}
