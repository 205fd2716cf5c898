import type { WorkspacePage, WorkspaceQuery } from '../../domain/store.ts';
import type { Queryable } from '../database.ts';
import { encodeTimeOrNull } from '../row.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';
import { workspaceFrom } from './row.ts';

/**
 * Newest first; the id decides between equal times. Race: a page starts after a place in this order, not
 * after a count, so rows that come or go between two pages make no other row appear twice or not at all.
 */
export async function listWorkspaces(db: Queryable, query: WorkspaceQuery): Promise<WorkspacePage> {
  const after = query.cursor === undefined ? undefined : decodeCursor(query.cursor);
  const rows = await db.query(
    `select *
       from kb.agent_workspaces
      where ($1::text is null or owner = $1)
        and ($2::text is null or status = $2)
        and ($3::text is null or provider = $3)
        and ($4::text is null or container_type = $4)
        and (pool is null or $2 = 'warm')
        and ($5::timestamptz is null or (created_at, id) < ($5::timestamptz, $6::uuid))
      order by created_at desc, id desc
      limit $7`,
    [
      query.owner ?? null,
      query.status ?? null,
      query.provider ?? null,
      query.containerType ?? null,
      encodeTimeOrNull(after?.createdAt ?? null),
      after?.id ?? null,
      // One more than asked tells whether there is a next page.
      query.limit + 1,
    ],
  );
  const items = rows.slice(0, query.limit).map((row) => workspaceFrom(row));
  const last = items.at(-1);
  return { items, nextCursor: last && rows.length > items.length ? encodeCursor(last) : null };
}
