import type { Queryable } from '../database.ts';

/**
 * By its id, or by that of the create that claimed it from a pool. Race: a row that another server has taken over
 * meanwhile stays with it.
 */
export async function releaseWorkspace(db: Queryable, server: number, id: string): Promise<void> {
  await db.query(
    `update kb.agent_workspaces
        set operator = null
      where (id = $1 or claimed_as = $1) and operator = $2`,
    [id, server],
  );
}
