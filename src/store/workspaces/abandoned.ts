import { changingStatuses, type Workspace } from '../../domain/workspace.ts';
import type { Queryable, SqlValue } from '../database.ts';
import { aliveServer, type ServerIdentity } from '../server.ts';
import { workspaceFrom } from './row.ts';

/**
 * The condition for rows that nobody works on, with the parameters `abandonedValues`. A server whose own sign of
 * life was just cut takes only what was released: the others may be as alive as it is.
 */
export const isAbandoned = `status = any($1::text[]) and (
  operator is null or ($2 and operator <> $3 and not ${aliveServer('operator')})
)`;

export function abandonedValues(server: ServerIdentity): readonly SqlValue[] {
  return [changingStatuses, server.settled(), server.number];
}

/** Race: for people to read; whoever acts on it uses `takeOver`. */
export async function abandonedWorkspaces(
  db: Queryable,
  server: ServerIdentity,
): Promise<readonly Workspace[]> {
  const rows = await db.query(
    `select * from kb.agent_workspaces where ${isAbandoned} order by created_at, id`,
    abandonedValues(server),
  );
  return rows.map((row) => workspaceFrom(row));
}
