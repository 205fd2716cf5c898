import type { KeptVolumes } from '../../domain/mcp.ts';
import type { Queryable } from '../database.ts';
import { strings, text, time } from '../row.ts';

/** Race: an admission may have taken them up when the answer arrives; it tells by its own answer. */
export async function keptVolumes(db: Queryable, owner?: string): Promise<readonly KeptVolumes[]> {
  const rows = await db.query(
    `select id, owner, name, provider, sandbox_name, paths, kept_at
       from kb.kept_volumes
      where $1::text is null or owner = $1
      order by kept_at, id`,
    [owner ?? null],
  );
  return rows.map((row) => ({
    id: text(row, 'id'),
    owner: text(row, 'owner'),
    name: text(row, 'name'),
    provider: text(row, 'provider'),
    sandboxName: text(row, 'sandbox_name'),
    paths: strings(row, 'paths'),
    keptAt: time(row, 'kept_at'),
  }));
}
