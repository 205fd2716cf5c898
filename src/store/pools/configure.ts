import type { PoolDefinition, StoredPool } from '../../domain/warm-pool.ts';
import type { OneAtATime } from '../one-at-a-time.ts';
import { listPools } from './list.ts';
import { configuredObject } from './row.ts';

/**
 * Race: one configuration at a time, so that of two servers that start with different ones, one's is there whole and
 * not parts of both. A size that is set meanwhile at run time waits for the row's lock, or is found by the insert's
 * conflict, which compares with the row as it is then.
 */
export async function configurePools(
  configurations: OneAtATime,
  pools: readonly PoolDefinition[],
  release: string,
): Promise<readonly StoredPool[]> {
  const named = pools.map((pool) => ({ name: pool.name, configured: configuredObject(pool) }));
  return configurations.run(async (tx) => {
    await tx.query('delete from kb.warm_pools where name <> all($1::text[])', [
      pools.map(({ name }) => name),
    ]);
    await tx.query(
      `insert into kb.warm_pools as stored (name, configured, size, release)
       select pool ->> 'name', pool -> 'configured', (pool -> 'configured' ->> 'size')::integer, $2
         from jsonb_array_elements($1::jsonb) pool
           on conflict (name) do update
          set configured = excluded.configured,
              size = case
                when stored.configured -> 'size' = excluded.configured -> 'size' then stored.size
                else excluded.size
              end,
              release = excluded.release`,
      [JSON.stringify(named), release],
    );
    return listPools(tx);
  });
}
