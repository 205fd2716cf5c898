import type { Workspace } from '../../domain/workspace.ts';
import type { Queryable } from '../database.ts';
import { workspaceFrom } from './row.ts';

/** Race: the answer may be old when it arrives; whoever acts on its status uses `transition`. */
export async function getWorkspace(db: Queryable, id: string): Promise<Workspace | undefined> {
  const [row] = await db.query('select * from kb.agent_workspaces where id = $1', [id]);
  return row && workspaceFrom(row);
}
