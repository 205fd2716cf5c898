import { actors } from '../../domain/events.ts';
import type { SandboxIncident } from '../../domain/provider.ts';
import type { Queryable } from '../database.ts';
import { encodeTime } from '../row.ts';
import { encodeDetail } from './note.ts';

/** Race: the owner is read and the event written by one statement; a workspace that is gone gets none. */
export async function recordIncident(db: Queryable, incident: SandboxIncident): Promise<void> {
  await db.query(
    `insert into kb.workspace_events (at, workspace_id, owner, actor, type, detail)
     select $1::timestamptz, id, owner, $3, $4, $5::jsonb
       from kb.agent_workspaces
      where id = $2`,
    [
      encodeTime(incident.at),
      incident.workspaceId,
      actors.sandbox,
      `workspace.${incident.kind}`,
      encodeDetail(incident.detail),
    ],
  );
}
