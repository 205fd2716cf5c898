import type { Queryable } from '../database.ts';
import { text } from '../row.ts';

/** Race: no row goes without an event in the same statement, so a workspace whose row is gone is known. */
export async function knownWorkspaces(
  db: Queryable,
  workspaceIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await db.query(
    `select asked.id
       from unnest($1::uuid[]) as asked (id)
      where exists (select 1 from kb.workspace_events where workspace_id = asked.id)`,
    [workspaceIds],
  );
  return new Set(rows.map((row) => text(row, 'id')));
}
