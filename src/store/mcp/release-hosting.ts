import type { Queryable } from '../database.ts';

/** Race: what another server has taken meanwhile stays with it. Locks in the order of `claimHosting`. */
export async function releaseHosting(
  db: Queryable,
  server: number,
  ids: readonly string[],
): Promise<void> {
  await db.query(
    `update kb.mcp_state
        set host = null
      where workspace_id in (
        select workspace_id
          from kb.mcp_state
         where workspace_id = any($1::uuid[]) and host = $2
         order by workspace_id
           for update
      )`,
    [ids, server],
  );
}
