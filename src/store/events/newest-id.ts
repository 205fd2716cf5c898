import type { Queryable } from '../database.ts';
import { onlyRow } from '../only-row.ts';
import { integer } from '../row.ts';
import { firstOpenGap } from './gap.ts';

/**
 * Race: an event with a lower id than the newest may be about to become visible; whoever follows from here on must
 * not miss it, so this is the newest one before any gap that may still be filled.
 */
export async function newestEventId(db: Queryable): Promise<number> {
  const rows = await db.query(
    `select coalesce(max(id), 0) as id
       from kb.workspace_events
      where id < coalesce(${firstOpenGap('0')}, 9223372036854775807)`,
  );
  return integer(onlyRow(rows), 'id');
}
