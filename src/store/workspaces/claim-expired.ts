import { actors } from '../../domain/events.ts';
import { changingStatuses, type Workspace } from '../../domain/workspace.ts';
import type { Queryable } from '../database.ts';
import { encodeTime } from '../row.ts';
import { workspaceFrom } from './row.ts';

/**
 * Race: `for update` checks a row again once it has its lock, so one that was touched since the statement began is
 * no longer due; `skip locked` leaves a row that is being touched, changed or claimed to whoever does that. The
 * chosen rows stay locked until they have been claimed by the same statement.
 */
export async function claimExpired(
  db: Queryable,
  server: number,
  now: Date,
  except: readonly string[],
  limit: number,
): Promise<readonly Workspace[]> {
  const rows = await db.query(
    `with due as (
       select id
         from kb.agent_workspaces
        where expires_at <= $1::timestamptz
          and not (container_type = 'mcp_server' and lifecycle = 'persistent')
          and status <> all($2::text[])
          and id <> all($3::uuid[])
          and pool is null
        order by expires_at, id
        limit $4
          for update skip locked
     ), claimed as (
       update kb.agent_workspaces
          set status = 'destroying', status_reason = null, version = version + 1, operator = $5
        where id in (select id from due)
       returning *
     ), noted as (
       insert into kb.workspace_events (at, workspace_id, owner, actor, type, detail)
       select $1::timestamptz, id, owner, $6, 'workspace.destroying', jsonb_build_object(
                'reason', 'expired',
                'expires_at', to_char(expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
              )
         from claimed
     )
     select * from claimed`,
    [encodeTime(now), changingStatuses, except, limit, server, actors.reaper],
  );
  return rows.map((row) => workspaceFrom(row));
}
