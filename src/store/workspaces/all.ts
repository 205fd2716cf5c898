import type { Workspace } from '../../domain/workspace.ts';
import type { Queryable } from '../database.ts';
import { workspaceFrom } from './row.ts';

/** Race: one statement sees one state of the table; whoever acts on a row uses `transition`. */
export async function allWorkspaces(db: Queryable): Promise<readonly Workspace[]> {
  const rows = await db.query('select * from kb.agent_workspaces order by created_at, id');
  return rows.map((row) => workspaceFrom(row));
}
