import type { Workspace } from '../../domain/workspace.ts';
import type { Queryable } from '../database.ts';
import { encodeTime } from '../row.ts';
import { workspaceFrom } from './row.ts';

/** What a use at the time `now` (an SQL expression) sets. greatest() passes over a null, so that one stays null. */
export function usedAt(now: string): string {
  return `last_used_at = greatest(last_used_at, ${now}),
          expires_at = case when expires_at is not null then
            greatest(expires_at, ${now} + ttl_seconds * interval '1 second')
          end`;
}

/**
 * Race: uses are told in any order, so no time is ever set back. A touch that waits for a row which is being claimed
 * as expired finds it no longer `ready` and answers so.
 */
export async function touchWorkspace(
  db: Queryable,
  id: string,
  now: Date,
  owner?: string,
): Promise<Workspace | undefined> {
  const [row] = await db.query(
    `update kb.agent_workspaces
        set ${usedAt('$2::timestamptz')}
      where id = $1 and status = 'ready' and ($3::text is null or owner = $3)
     returning *`,
    [id, encodeTime(now), owner ?? null],
  );
  return row && workspaceFrom(row);
}
