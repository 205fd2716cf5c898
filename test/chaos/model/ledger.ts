import type { Outcome, Rest } from './workspace-record.ts';
import { WorkspaceRecord } from './workspace-record.ts';

/**
 * Everything that clients asked for and were told. A create is known by a tag in its metadata, because one that
 * was not answered may have left a workspace whose id nobody knows.
 */
export class Ledger {
  readonly #workspaces = new Map<string, WorkspaceRecord>();
  readonly #creates = new Map<string, Outcome>();

  get workspaces(): readonly WorkspaceRecord[] {
    return [...this.#workspaces.values()];
  }

  find(id: string): WorkspaceRecord | undefined {
    return this.#workspaces.get(id);
  }

  /** Until it is answered, nobody knows. */
  attemptCreate(tag: string): void {
    this.#creates.set(tag, 'unknown');
  }

  acknowledgeCreate(tag: string, id: string): WorkspaceRecord {
    this.#creates.set(tag, 'acknowledged');
    return this.#add(new WorkspaceRecord(id));
  }

  refuseCreate(tag: string): void {
    this.#creates.set(tag, 'refused');
  }

  /** A row that the ledger does not know by its id. A sentence when no create can have left it. */
  observeStray(tag: unknown): string | undefined {
    const outcome = typeof tag === 'string' ? this.#creates.get(tag) : undefined;
    if (outcome === 'unknown') return undefined;
    if (outcome === 'refused') return 'is there, though its create was refused';
    if (outcome === 'acknowledged') return 'is the second workspace of one create';
    return 'is there, though nobody created it';
  }

  /** Takes over what an unanswered create left. */
  adopt(id: string, rest: Rest): WorkspaceRecord {
    return this.#add(new WorkspaceRecord(id, rest));
  }

  #add(record: WorkspaceRecord): WorkspaceRecord {
    this.#workspaces.set(record.id, record);
    return record;
  }
}
