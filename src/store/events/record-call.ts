import type { ToolCall } from '../../domain/events.ts';
import type { Queryable } from '../database.ts';
import { encodeTime } from '../row.ts';
import { usedAt } from '../workspaces/touch.ts';
import { encodeDetail } from './note.ts';

/**
 * Race: a workspace that left `ready` before this statement keeps its times; its event is written all the same, for
 * the call did happen.
 */
export async function recordCall(db: Queryable, call: ToolCall): Promise<void> {
  await db.query(
    `with used as (
       update kb.agent_workspaces set ${usedAt('$1::timestamptz')} where id = $2 and status = 'ready'
     )
     insert into kb.workspace_events (at, workspace_id, owner, actor, type, detail)
     values ($1::timestamptz, $2, $3, $4, $5, $6)`,
    [
      encodeTime(call.at),
      call.workspaceId,
      call.owner,
      call.actor,
      `tool.${call.tool}`,
      encodeDetail({ ...call.detail }),
    ],
  );
}
