import type { Actor, EventQuery, McpEvent, Notice, ToolCall, WorkspaceEvent } from './events.ts';
import type { KeptVolumes, McpState } from './mcp.ts';
import type { SandboxIncident } from './provider.ts';
import type { NewToken, Token } from './token.ts';
import type { PoolDefinition, StoredPool } from './warm-pool.ts';
import type { ContainerType, Workspace, WorkspaceStatus } from './workspace.ts';

export interface NewWorkspace extends Omit<Workspace, 'version' | 'statusReason' | 'readyAt'> {
  /** Files of its own are there already: it is brought up on them, and so begins as `resuming`. */
  readonly readyAt?: Date;
}

/** The columns that a status change may set together with the status; null clears one. */
export type WorkspaceChanges = Partial<
  Pick<
    Workspace,
    | 'provider'
    | 'statusReason'
    | 'resourceLimits'
    | 'metadata'
    | 'lastUsedAt'
    | 'readyAt'
    | 'expiresAt'
    | 'desiredState'
    | 'providerWorkspaceId'
    | 'snapshotId'
    | 'sealedEnv'
  >
>;

/**
 * A change of status. A changing status makes this server the row's operator; a resting one leaves it with
 * none. `statusReason` is cleared unless the changes set it.
 */
export interface Transition {
  readonly from: readonly WorkspaceStatus[];
  readonly to: WorkspaceStatus;
  /** Only while this server is the operator: it began the change, and no other has taken it over. */
  readonly own?: boolean;
  readonly changes?: WorkspaceChanges;
  readonly by: Actor;
  /** For the event `workspace.{to}` that is written with the change. */
  readonly detail?: Readonly<Record<string, unknown>>;
}

/** Rows that are in a pool are left out, unless the status asked for is `warm`. */
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
  readonly pools: PoolStore;
  readonly mcp: McpStore;
  readonly peers: PeerStore;
  readonly events: EventStore;
  readonly tokens: TokenStore;
  /** Made at the first call on a new database. */
  installation(): Promise<Installation>;
  /** Which database this is, for doctor and health: "PGlite 17.5 in /path" or "PostgreSQL 15.18". */
  describe(): Promise<string>;
}

/** The number of running workspaces and the limit that it met. */
export interface Refused {
  readonly running: number;
}

export interface WorkspaceStore {
  /**
   * Writes the row in status `creating`, or `resuming` where it has a `readyAt`, with this server as its operator, unless
   * `limit` agent workspaces of the whole installation run already (`runningStatuses`). Of any number of calls at once,
   * on any number of servers, no more get through than the limit leaves room for. An MCP server needs no room; a name
   * that its owner has given to another is `name_taken`. Kept volumes that it takes up (`McpStore.kept`) are no
   * longer kept from now on.
   */
  admit(workspace: NewWorkspace, limit: number): Promise<Workspace | Refused>;
  get(id: string): Promise<Workspace | undefined>;
  list(query: WorkspaceQuery): Promise<WorkspacePage>;
  /** Every row; for the reconciler. */
  all(): Promise<readonly Workspace[]>;
  /**
   * Compare-and-set: changes the row only if its status is one of `from`, raising its version, and writes the
   * event with it; undefined when it is not, or when there is no such row.
   */
  transition(id: string, transition: Transition): Promise<Workspace | undefined>;
  /** The same into `resuming`, if the limit leaves room, reserved as by `admit`; only agent workspaces need any. */
  transitionWithin(
    id: string,
    transition: Transition,
    limit: number,
  ): Promise<Workspace | Refused | undefined>;
  /** Removes the row if this server is its operator in `destroying`, writing `workspace.destroyed`. */
  remove(id: string, by: Actor, detail?: Readonly<Record<string, unknown>>): Promise<boolean>;
  /**
   * This server no longer works on the row: whoever calls `takeOver` next does. A row that was claimed from a pool is
   * also known by the id of the workspace that it was claimed for.
   */
  release(id: string): Promise<void>;
  /**
   * Makes this server the operator of rows in a changing status that no live server works on: their operator
   * has died or has released them. Of several servers at once, each such row goes to one.
   */
  takeOver(): Promise<readonly Workspace[]>;
  /** The same without taking them: which rows `takeOver` would take now. */
  abandoned(): Promise<readonly Workspace[]>;
  /**
   * Notes a use of a `ready` workspace: `lastUsedAt` is `now`, `expiresAt` moves to `now` + TTL, neither ever
   * back. Undefined when there is no such row, it is not ready, or it is not that of `owner` where one is given.
   * Raises no version: nothing was decided.
   */
  touch(id: string, now: Date, owner?: string): Promise<Workspace | undefined>;
  /**
   * Claims up to `limit` rows whose time has come for destruction: `destroying`, this server their operator.
   * Conditions are checked again in the claiming statement, so a row that was touched meanwhile, or claimed by
   * another server, is left alone. Persistent MCP servers, rows that never expire, rows in a changing status
   * and those in `except` are never claimed.
   */
  claimExpired(now: Date, except: readonly string[], limit: number): Promise<readonly Workspace[]>;
  /** How many workspaces each provider holds, in every state but `destroying`; those in a pool do not count. */
  countByProvider(): Promise<ReadonlyMap<string, number>>;
}

/** Pools are of the installation: all servers on the database keep the same ones. */
export interface PoolStore {
  /**
   * Takes over what a server that starts is configured with, as made by `release`; pools that it does not name go.
   * A size that was changed since at run time holds until the configured one changes.
   */
  configure(pools: readonly PoolDefinition[], release: string): Promise<readonly StoredPool[]>;
  /** By name. */
  list(): Promise<readonly StoredPool[]>;
  /** Undefined: there is no such pool. Leaves the event `pool.resized` if the size is another than before. */
  resize(name: string, size: number, by: Actor): Promise<StoredPool | undefined>;
  /** Every row that is in a pool, oldest first, whatever its status. */
  members(): Promise<readonly Workspace[]>;
  /**
   * Writes the row of a new member in status `creating`, with this server as its operator, unless the pool has
   * `size` members of this key, being made or waiting, already. Of any number of calls at once, on any number of
   * servers, no more get through.
   */
  reserve(member: NewWorkspace, size: number): Promise<Workspace | undefined>;
  /**
   * Takes a waiting member of this key for `workspace` if the limit leaves room, as `admit` does: the row is then
   * `creating` with this server as its operator, of no pool, and what `workspace` says of its owner, time to live,
   * repository, environment and metadata holds; the sandbox, its image, limits and network are as they were made.
   * The longest waiting goes first; no row is handed out twice. Undefined: none waits. When the answer is lost, the
   * row that may have been taken is released by the id of `workspace`.
   */
  claim(
    key: string,
    workspace: NewWorkspace,
    limit: number,
  ): Promise<Workspace | Refused | undefined>;
}

/**
 * What is known of the programs of hosted MCP servers. One server of ours hosts each: it alone talks to the program. It
 * shows itself alive as the operator of a row does.
 */
export interface McpStore {
  /** Every MCP server of the installation, oldest first. */
  servers(): Promise<readonly Workspace[]>;
  /** By owner and name; without an owner every one of this name. */
  find(name: string, owner?: string): Promise<readonly Workspace[]>;
  /** Of all that have one; a server without has never been started. */
  states(ids?: readonly string[]): Promise<ReadonlyMap<string, McpState>>;
  /** Only while this server hosts it: false when it does not, or the row is gone. */
  saveState(id: string, state: McpState): Promise<boolean>;
  /**
   * Makes this server the host of those among these that nobody alive hosts, and answers with the ids of all that it
   * hosts now. Of several servers at once one gets each. At first it is hosted by the server that has admitted it.
   */
  claimHosting(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** This server hosts it no longer: whoever comes next may. */
  releaseHosting(ids: readonly string[]): Promise<void>;
  /** Which of these are hosted by another server that is alive. */
  hostedElsewhere(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * Removes the row as `WorkspaceStore.remove` does and notes its volumes as kept, both or neither.
   */
  removeKeeping(
    id: string,
    by: Actor,
    detail?: Readonly<Record<string, unknown>>,
  ): Promise<boolean>;
  /** Oldest first. */
  kept(owner?: string): Promise<readonly KeptVolumes[]>;
  /** The volumes are gone: the note goes too. False: there is none. */
  forgetKept(id: string): Promise<boolean>;
}

/** Another server on the same database, and where it is reached. */
export interface Peer {
  readonly number: number;
  readonly url: string;
}

export interface PeerStore {
  /** Of this server. */
  readonly number: number;
  /**
   * Of the MCP servers with this id or name: who hosts each, by its id, where that is another server that is alive and
   * has an address.
   */
  hostsOf(idOrName: string): Promise<ReadonlyMap<string, Peer>>;
}

export interface EventStore {
  /** Notes what happened to a hosted MCP server's program, by `actors.mcpHost`; one whose row is gone is dropped. */
  recordMcp(event: McpEvent): Promise<void>;
  /** Notes what happened to a part of the server itself. */
  recordNotice(notice: Notice): Promise<void>;
  /** Notes finished tool calls and, where the workspace is still `ready`, its use at that time (as `touch`). */
  recordCalls(calls: readonly ToolCall[]): Promise<void>;
  /** Notes what happened in a sandbox, by `actors.sandbox`; one whose workspace is gone is dropped. */
  recordIncident(incident: SandboxIncident): Promise<void>;
  /**
   * With `after`, no event is ever passed over: where an id is missing that a running transaction may still
   * bring, the answer ends before the gap; a gap that has stood for a few seconds is final.
   */
  list(query: EventQuery): Promise<readonly WorkspaceEvent[]>;
  /** The newest event's id before which none is missing, as in `list`; 0: none. To follow from now on. */
  newestId(): Promise<number>;
  /** Which of these workspaces the log knows: those that this database has really had. */
  known(workspaceIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Removes what is older; answers how many. */
  prune(before: Date): Promise<number>;
}

export interface TokenStore {
  insert(token: NewToken): Promise<Token>;
  /** By the SHA-256 of the secret, hex; revoked tokens are not found. */
  findByHash(hash: string): Promise<Token | undefined>;
  list(): Promise<readonly Token[]>;
  /** False when there is no live token with this id. */
  revoke(id: string, at: Date): Promise<boolean>;
}
