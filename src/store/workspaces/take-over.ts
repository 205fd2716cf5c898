import type { Workspace } from '../../domain/workspace.ts';
import type { Queryable } from '../database.ts';
import type { ServerIdentity } from '../server.ts';
import { abandonedValues, isAbandoned } from './abandoned.ts';
import { workspaceFrom } from './row.ts';

/**
 * Race: of several servers at once the first to lock a row has it; the others skip it, or, if they come to it after
 * the commit, check it again and find it in the hands of a server that is alive. A statement of the dead server that
 * the database still runs either comes first, and the row is checked again here, or finds another operator.
 */
export async function takeOverWorkspaces(
  db: Queryable,
  server: ServerIdentity,
): Promise<readonly Workspace[]> {
  const rows = await db.query(
    `update kb.agent_workspaces
        set operator = $3
      where id in (
        select id from kb.agent_workspaces where ${isAbandoned} for update skip locked
      )
     returning *`,
    abandonedValues(server),
  );
  return rows.map((row) => workspaceFrom(row));
}
