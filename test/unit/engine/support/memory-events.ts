import { actors, noticeOwner } from '../../../../src/domain/events.ts';
import type {
  Actor,
  EventQuery,
  EventType,
  McpEvent,
  Notice,
  ToolCall,
  WorkspaceEvent,
} from '../../../../src/domain/events.ts';
import type { SandboxIncident } from '../../../../src/domain/provider.ts';
import type { EventStore } from '../../../../src/domain/store.ts';
import type { Workspace } from '../../../../src/domain/workspace.ts';

/** The log as an array. Ids have no gaps: nothing here runs in a transaction. */
export class MemoryEventStore implements EventStore {
  readonly events: WorkspaceEvent[] = [];
  readonly #touch: (id: string, at: Date) => void;
  #nextId = 1;

  constructor(touch: (id: string, at: Date) => void) {
    this.#touch = touch;
  }

  /** What happened to one workspace, oldest first. */
  typesOf(workspaceId: string): readonly EventType[] {
    return this.events.filter((event) => event.workspaceId === workspaceId).map(({ type }) => type);
  }

  append(event: Omit<WorkspaceEvent, 'id'>): void {
    this.events.push({ id: this.#nextId, ...event });
    this.#nextId += 1;
  }

  appendChange(
    row: Pick<Workspace, 'id' | 'owner'>,
    at: Date,
    actor: Actor,
    type: EventType,
    detail: Readonly<Record<string, unknown>>,
  ): void {
    this.append({ at, workspaceId: row.id, owner: row.owner, actor, type, detail });
  }

  async recordNotice(notice: Notice): Promise<void> {
    this.append({ ...notice, workspaceId: null, owner: noticeOwner });
  }

  async recordCalls(calls: readonly ToolCall[]): Promise<void> {
    for (const call of calls) this.#recordCall(call);
  }

  #recordCall(call: ToolCall): void {
    const { at, workspaceId, owner, actor, tool, detail } = call;
    this.append({ at, workspaceId, owner, actor, type: `tool.${tool}`, detail: { ...detail } });
    this.#touch(workspaceId, at);
  }

  /** Their owner is not known here. */
  async recordIncident({ at, workspaceId, kind, detail }: SandboxIncident): Promise<void> {
    const type = `workspace.${kind}` as const;
    this.append({ at, workspaceId, owner: '', actor: actors.sandbox, type, detail });
  }

  /** Nor is theirs. */
  async recordMcp({ at, workspaceId, kind, detail }: McpEvent): Promise<void> {
    const type = `mcp.${kind}` as const;
    this.append({ at, workspaceId, owner: '', actor: actors.mcpHost, type, detail });
  }

  async list(query: EventQuery): Promise<readonly WorkspaceEvent[]> {
    const { owner, workspaceId, types, after, limit } = query;
    const matching = this.events.filter(
      (event) =>
        (owner === undefined || event.owner === owner) &&
        (workspaceId === undefined || event.workspaceId === workspaceId) &&
        (types === undefined || types.includes(event.type)) &&
        (after === undefined || event.id > after),
    );
    return (after === undefined ? matching.toReversed() : matching).slice(0, limit);
  }

  async newestId(): Promise<number> {
    return this.events.at(-1)?.id ?? 0;
  }

  async known(workspaceIds: readonly string[]): Promise<ReadonlySet<string>> {
    const seen = new Set(this.events.map((event) => event.workspaceId));
    return new Set(workspaceIds.filter((id) => seen.has(id)));
  }

  async prune(before: Date): Promise<number> {
    const kept = this.events.filter((event) => event.at >= before);
    const removed = this.events.length - kept.length;
    this.events.splice(0, this.events.length, ...kept);
    return removed;
  }
}
