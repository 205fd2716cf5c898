import type { WorkspaceStatus } from '../../domain/workspace.ts';
import type { Queryable } from '../database.ts';

/** Race: a row whose status changed first stays; of two removals at once one removes it, the other finds none. */
export async function removeWorkspace(
  db: Queryable,
  id: string,
  from: readonly WorkspaceStatus[],
): Promise<boolean> {
  const rows = await db.query(
    'delete from kb.agent_workspaces where id = $1 and status = any($2::text[]) returning id',
    [id, from],
  );
  return rows.length > 0;
}
