import type { Workspace } from '../../domain/workspace.ts';
import type { Queryable } from '../database.ts';
import { workspaceFrom } from '../workspaces/row.ts';

/** Race: one statement sees one state of the table; whoever acts on a row uses `transition`. */
export async function mcpServers(db: Queryable): Promise<readonly Workspace[]> {
  const rows = await db.query(
    `select * from kb.agent_workspaces where container_type = 'mcp_server' order by created_at, id`,
  );
  return rows.map((row) => workspaceFrom(row));
}
