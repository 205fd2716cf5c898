import type { Workspace } from '../../domain/workspace.ts';
import type { Queryable } from '../database.ts';
import { workspaceFrom } from '../workspaces/row.ts';

/** Race: the answer may be old when it arrives; whoever acts on a row uses `transition`. */
export async function findMcpServers(
  db: Queryable,
  name: string,
  owner?: string,
): Promise<readonly Workspace[]> {
  const rows = await db.query(
    `select *
       from kb.agent_workspaces
      where container_type = 'mcp_server' and mcp_config ->> 'name' = $1
        and ($2::text is null or owner = $2)
      order by created_at, id`,
    [name, owner ?? null],
  );
  return rows.map((row) => workspaceFrom(row));
}
