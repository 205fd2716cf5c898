import type { ToolCall } from '../../domain/events.ts';
import type { Queryable } from '../database.ts';
import { encodeTime } from '../row.ts';
import { usedAt } from '../workspaces/touch.ts';
import { encodeDetail } from './note.ts';

/**
 * Race: a workspace that left `ready` before this statement keeps its times; its events are written all the same, for
 * the calls did happen.
 */
export async function recordCalls(db: Queryable, calls: readonly ToolCall[]): Promise<void> {
  if (calls.length === 0) return;
  const rows = calls.map(({ at, workspaceId, owner, actor, tool, detail }) => ({
    ...{
      at: encodeTime(at),
      workspace_id: workspaceId,
      owner,
      actor,
      type: `tool.${tool}`,
      detail,
    },
  }));
  await db.query(
    `with calls as (
       select *
         from jsonb_to_recordset($1::jsonb) as call(
           at timestamptz, workspace_id uuid, owner text, actor text, type text, detail jsonb
         )
     ), used as (
       update kb.agent_workspaces
          set ${usedAt('latest.at')}
         from (select workspace_id, max(at) as at from calls group by workspace_id) as latest
        where id = latest.workspace_id and status = 'ready'
     )
     insert into kb.workspace_events (at, workspace_id, owner, actor, type, detail)
     select at, workspace_id, owner, actor, type, detail from calls`,
    [encodeDetail(rows)],
  );
}
