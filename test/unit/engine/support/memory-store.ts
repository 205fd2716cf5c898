import { systemClock, type Clock } from '../../../../src/base/clock.ts';
import { actors, type Actor } from '../../../../src/domain/events.ts';
import type {
  NewWorkspace,
  Refused,
  Transition,
  WorkspacePage,
  WorkspaceQuery,
  WorkspaceStore,
} from '../../../../src/domain/store.ts';
import { isChanging, runningStatuses, type Workspace } from '../../../../src/domain/workspace.ts';
import { MemoryEventStore } from './memory-events.ts';
import { MemoryMcpTables } from './memory-mcp-tables.ts';

interface MemoryStoreOptions {
  /** The time of the events. */
  readonly clock?: Clock;
  /** This server's number. */
  readonly server?: number;
  /** A store whose database this one is on too: the same rows, operators, live servers and events. */
  readonly on?: MemoryWorkspaceStore;
}

/** Rows in a map, with the compare-and-set, the operators and the limits that the contract asks for. */
export class MemoryWorkspaceStore implements WorkspaceStore {
  readonly rows: Map<string, Workspace>;
  /** Who works on which row. */
  readonly operators: Map<string, number>;
  /** The rows that were claimed from a pool, by the id of the workspace that each was claimed for. */
  readonly claimedAs = new Map<string, string>();
  /** The servers that give a sign of life; take one out and it is dead. */
  readonly alive: Set<number>;
  /** Beside the rows of MCP servers; memory-mcp.ts reads and writes them. */
  readonly mcp: MemoryMcpTables;
  readonly events: MemoryEventStore;
  readonly clock: Clock;
  #server: number;

  constructor({ clock = systemClock, server = 1, on }: MemoryStoreOptions = {}) {
    this.clock = clock;
    this.#server = server;
    this.rows = on?.rows ?? new Map<string, Workspace>();
    this.operators = on?.operators ?? new Map<string, number>();
    this.alive = on?.alive ?? new Set<number>();
    this.mcp = on?.mcp ?? new MemoryMcpTables();
    this.events = on?.events ?? new MemoryEventStore((id, at) => this.#touch(id, at));
    this.alive.add(server);
  }

  get server(): number {
    return this.#server;
  }

  /** A restart: the old number is dead, and what it worked on is abandoned. */
  set server(number: number) {
    this.alive.delete(this.#server);
    this.alive.add(number);
    this.#server = number;
  }

  async admit(workspace: NewWorkspace, limit: number): Promise<Workspace | Refused> {
    const refused = this.refusal(workspace, limit);
    if (refused) return refused;
    return this.insert(workspace);
  }

  /** Whatever the limit. */
  insert(workspace: NewWorkspace): Workspace {
    if (this.rows.has(workspace.id)) throw new Error(`duplicate id ${workspace.id}`);
    this.mcp.takeName(workspace, [...this.rows.values()]);
    const row: Workspace = {
      ...workspace,
      status: workspace.readyAt ? 'resuming' : 'creating',
      statusReason: null,
      readyAt: workspace.readyAt ?? null,
      version: 1,
    };
    this.keep(row);
    if (row.containerType === 'mcp_server') this.mcp.hosts.set(row.id, this.server);
    const { owner, provider, image, pool, status } = row;
    this.events.appendChange(row, this.clock.now(), owner, `workspace.${status}`, {
      provider,
      image,
      ...(pool === null ? {} : { pool }),
    });
    return row;
  }

  async get(id: string): Promise<Workspace | undefined> {
    return this.rows.get(id);
  }

  async list(query: WorkspaceQuery): Promise<WorkspacePage> {
    const { owner, status, provider, containerType } = query;
    const items = [...this.rows.values()].filter(
      (row) =>
        (row.pool === null || status === 'warm') &&
        (owner === undefined || row.owner === owner) &&
        (status === undefined || row.status === status) &&
        (provider === undefined || row.provider === provider) &&
        (containerType === undefined || row.containerType === containerType),
    );
    return { items: items.slice(0, query.limit), nextCursor: null };
  }

  async all(): Promise<readonly Workspace[]> {
    return [...this.rows.values()];
  }

  async transition(id: string, transition: Transition): Promise<Workspace | undefined> {
    const row = this.#matching(id, transition);
    return row && this.#change(row, transition);
  }

  async transitionWithin(
    id: string,
    transition: Transition,
    limit: number,
  ): Promise<Workspace | Refused | undefined> {
    const row = this.#matching(id, transition);
    return row && (this.refusal(row, limit) ?? this.#change(row, transition));
  }

  async remove(
    id: string,
    by: Actor,
    detail: Readonly<Record<string, unknown>> = {},
  ): Promise<boolean> {
    const row = this.rows.get(id);
    if (row?.status !== 'destroying' || this.operators.get(id) !== this.#server) return false;
    this.rows.delete(id);
    this.operators.delete(id);
    this.mcp.drop(id);
    this.events.appendChange(row, this.clock.now(), by, 'workspace.destroyed', detail);
    return true;
  }

  async release(known: string): Promise<void> {
    const id = this.claimedAs.get(known) ?? known;
    if (this.operators.get(id) === this.#server) this.operators.delete(id);
  }

  async takeOver(): Promise<readonly Workspace[]> {
    const taken = await this.abandoned();
    for (const { id } of taken) this.operators.set(id, this.#server);
    return taken;
  }

  async abandoned(): Promise<readonly Workspace[]> {
    return [...this.rows.values()].filter(({ id, status }) => {
      const operator = this.operators.get(id);
      const works = operator === this.#server || this.alive.has(operator ?? Number.NaN);
      return isChanging(status) && !works;
    });
  }

  async touch(id: string, now: Date, owner?: string): Promise<Workspace | undefined> {
    const foreign = owner !== undefined && this.rows.get(id)?.owner !== owner;
    return foreign ? undefined : this.#touch(id, now);
  }

  async claimExpired(
    now: Date,
    except: readonly string[],
    limit: number,
  ): Promise<readonly Workspace[]> {
    const expired = [...this.rows.values()].filter(
      (row) =>
        row.pool === null &&
        row.expiresAt !== null &&
        row.expiresAt <= now &&
        !isChanging(row.status) &&
        !(row.containerType === 'mcp_server' && row.lifecycle === 'persistent') &&
        !except.includes(row.id),
    );
    return expired.slice(0, limit).map((row) => {
      const { version } = row;
      const claimed: Workspace = {
        ...row,
        status: 'destroying',
        statusReason: null,
        version: version + 1,
      };
      this.keep(claimed);
      this.events.appendChange(row, now, actors.reaper, 'workspace.destroying', {
        reason: 'expired',
        expires_at: row.expiresAt?.toISOString(),
      });
      return claimed;
    });
  }

  async countByProvider(): Promise<ReadonlyMap<string, number>> {
    const counts = new Map<string, number>();
    for (const { provider, status, pool } of this.rows.values()) {
      if (status !== 'destroying' && pool === null)
        counts.set(provider, (counts.get(provider) ?? 0) + 1);
    }
    return counts;
  }

  #matching(id: string, { from, own }: Transition): Workspace | undefined {
    const row = this.rows.get(id);
    if (!row || !from.includes(row.status)) return undefined;
    return own === true && this.operators.get(id) !== this.#server ? undefined : row;
  }

  #change(row: Workspace, { to, changes, by, detail }: Transition): Workspace {
    const changed: Workspace = {
      ...row,
      statusReason: null,
      ...changes,
      status: to,
      version: row.version + 1,
    };
    this.keep(changed);
    const { statusReason: reason } = changed;
    this.events.appendChange(row, this.clock.now(), by, `workspace.${to}`, {
      ...detail,
      ...(reason === null ? {} : { reason }),
    });
    return changed;
  }

  /** Writes the row; in a changing status this server is its operator. */
  keep(row: Workspace): void {
    checkPool(row);
    this.rows.set(row.id, row);
    if (isChanging(row.status)) this.operators.set(row.id, this.#server);
    else this.operators.delete(row.id);
  }

  /** The row itself is not counted: one that has a slot needs no second one. */
  refusal(row: Pick<Workspace, 'id' | 'containerType'>, limit: number): Refused | undefined {
    if (row.containerType !== 'agent_workspace') return undefined;
    const counted = [...this.rows.values()].filter(
      ({ id, containerType, status, pool }) =>
        id !== row.id &&
        pool === null &&
        containerType === 'agent_workspace' &&
        runningStatuses.some((running) => running === status),
    );
    return counted.length < limit ? undefined : { running: counted.length };
  }

  #touch(id: string, now: Date): Workspace | undefined {
    const row = this.rows.get(id);
    if (row?.status !== 'ready') return undefined;
    const { ttlSeconds, expiresAt, lastUsedAt } = row;
    const moved = ttlSeconds === null ? null : new Date(now.getTime() + ttlSeconds * 1_000);
    const touched: Workspace = {
      ...row,
      lastUsedAt: now > lastUsedAt ? now : lastUsedAt,
      expiresAt: expiresAt && moved && moved > expiresAt ? moved : expiresAt,
    };
    this.rows.set(id, touched);
    return touched;
  }
}

/** As the database's constraints do. */
function checkPool({ id, status, pool, poolKey, containerType }: Workspace): void {
  const member = ['creating', 'warm', 'destroying', 'error'].includes(status);
  const right =
    (pool === null) === (poolKey === null) &&
    (pool === null ? status !== 'warm' : member && containerType === 'agent_workspace');
  if (!right) throw new Error(`${id} cannot be ${status} in the pool ${String(pool)}`);
}
