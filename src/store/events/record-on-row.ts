import type { Actor, EventType } from '../../domain/events.ts';
import type { Queryable } from '../database.ts';
import { encodeTime } from '../row.ts';
import { encodeDetail } from './note.ts';

/** What happened to the workspace of a row, which says whose event it is. */
export interface RowEvent {
  readonly workspaceId: string;
  readonly at: Date;
  readonly actor: Actor;
  readonly type: EventType;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** Race: the owner is read and the event written by one statement; a workspace that is gone gets none. */
export async function recordOnRow(
  db: Queryable,
  { workspaceId, at, actor, type, detail }: RowEvent,
): Promise<void> {
  await db.query(
    `insert into kb.workspace_events (at, workspace_id, owner, actor, type, detail)
     select $1::timestamptz, id, owner, $3, $4, $5::jsonb
       from kb.agent_workspaces
      where id = $2`,
    [encodeTime(at), workspaceId, actor, type, encodeDetail(detail)],
  );
}
