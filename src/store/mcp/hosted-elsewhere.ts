import type { Queryable } from '../database.ts';
import { text } from '../row.ts';
import { aliveServer } from '../server.ts';

/** Race: for an answer to a caller; whoever wants to host uses `claimHosting`. */
export async function hostedElsewhere(
  db: Queryable,
  server: number,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await db.query(
    `select workspace_id
       from kb.mcp_state
      where workspace_id = any($1::uuid[]) and host <> $2 and ${aliveServer('host')}`,
    [ids, server],
  );
  return new Set(rows.map((row) => text(row, 'workspace_id')));
}
