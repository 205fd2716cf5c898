import { noticeOwner, type Actor } from '../../domain/events.ts';
import type { StoredPool } from '../../domain/warm-pool.ts';
import type { Queryable } from '../database.ts';
import { encodeTime } from '../row.ts';
import { poolFrom } from './row.ts';

/**
 * Race: the size before is read under the row's lock, so that of several at once each tells what it really replaced.
 * The event is written by the same statement.
 */
export async function resizePool(
  db: Queryable,
  name: string,
  size: number,
  by: Actor,
  at: Date,
): Promise<StoredPool | undefined> {
  const [row] = await db.query(
    `with before as (
       select name, size from kb.warm_pools where name = $1 for update
     ), changed as (
       update kb.warm_pools pool
          set size = $2
         from before
        where pool.name = before.name
       returning pool.*, before.size as size_before
     ), noted as (
       insert into kb.workspace_events (at, workspace_id, owner, actor, type, detail)
       select $3::timestamptz, null, $4, $5, 'pool.resized',
              jsonb_build_object('pool', name, 'from', size_before, 'to', size)
         from changed
        where size <> size_before
     )
     select * from changed`,
    [name, size, encodeTime(at), noticeOwner, by],
  );
  return row && poolFrom(row);
}
