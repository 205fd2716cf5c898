import type { Queryable } from '../database.ts';
import { integer, text } from '../row.ts';

/** Race: one statement sees one state of the table; the numbers belong together, but may be old on arrival. */
export async function countByProvider(db: Queryable): Promise<ReadonlyMap<string, number>> {
  const rows = await db.query(
    `select provider, count(*) as workspaces
       from kb.agent_workspaces
      where status <> 'destroying' and pool is null
      group by provider
      order by provider`,
  );
  return new Map(rows.map((row) => [text(row, 'provider'), integer(row, 'workspaces')]));
}
