import type { Queryable } from '../database.ts';
import { text } from '../row.ts';
import { aliveServer, type ServerIdentity } from '../server.ts';

/**
 * Race: of several servers at once the first to lock the row of a program has it. The others wait for that moment,
 * check again and find it with a server that is alive. Rows are locked in one order, so no two wait for each other; a
 * server that is being removed is passed over. One whose own sign of life was just cut takes only what was released:
 * the others may be as alive as it is.
 */
export async function claimHosting(
  db: Queryable,
  server: ServerIdentity,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await db.query(
    `with left_alone as (
       select workspace_id
         from kb.mcp_state
        where workspace_id = any($1::uuid[])
          and (host is null or ($3 and host <> $2 and not ${aliveServer('host')}))
        order by workspace_id
          for update
     ), taken as (
       update kb.mcp_state
          set host = $2
        where workspace_id in (select workspace_id from left_alone)
       returning workspace_id
     )
     select workspace_id from taken
      union all
     select workspace_id from kb.mcp_state where workspace_id = any($1::uuid[]) and host = $2`,
    [ids, server.number, server.settled()],
  );
  return new Set(rows.map((row) => text(row, 'workspace_id')));
}
