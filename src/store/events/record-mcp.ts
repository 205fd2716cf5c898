import { actors, type McpEvent } from '../../domain/events.ts';
import type { Queryable } from '../database.ts';
import { encodeTime } from '../row.ts';
import { encodeDetail } from './note.ts';

/** Race: the owner is read and the event written by one statement; a server that is gone gets none. */
export async function recordMcp(db: Queryable, event: McpEvent): Promise<void> {
  await db.query(
    `insert into kb.workspace_events (at, workspace_id, owner, actor, type, detail)
     select $1::timestamptz, id, owner, $3, $4, $5::jsonb
       from kb.agent_workspaces
      where id = $2`,
    [
      encodeTime(event.at),
      event.workspaceId,
      actors.mcpHost,
      `mcp.${event.kind}`,
      encodeDetail(event.detail),
    ],
  );
}
