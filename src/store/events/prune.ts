import type { Queryable } from '../database.ts';
import { onlyRow } from '../only-row.ts';
import { encodeTime, integer } from '../row.ts';

/** So many take well under the deadline of a statement. */
const batch = 10_000;

/**
 * Race: two servers that prune at once pass over each other's rows, so neither waits, and each event is counted
 * once.
 */
export async function pruneEvents(db: Queryable, before: Date): Promise<number> {
  let removed = 0;
  for (;;) {
    const rows = await db.query(
      `with old as (
         select id
           from kb.workspace_events
          where at < $1
          order by at
          limit ${String(batch)}
            for update skip locked
       ), gone as (
         delete from kb.workspace_events where id in (select id from old) returning id
       )
       select count(*) as number from gone`,
      [encodeTime(before)],
    );
    const number = integer(onlyRow(rows), 'number');
    removed += number;
    if (number < batch) return removed;
  }
}
