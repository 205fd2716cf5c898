import type { StoredPool } from '../../domain/warm-pool.ts';
import type { Queryable } from '../database.ts';
import { poolFrom } from './row.ts';

/** Race: one statement sees one state of the table; a size may be another when the answer arrives. */
export async function listPools(db: Queryable): Promise<readonly StoredPool[]> {
  const rows = await db.query(
    'select name, configured, size, release from kb.warm_pools order by name collate "C"',
  );
  return rows.map((row) => poolFrom(row));
}
