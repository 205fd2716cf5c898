import type { EventQuery, WorkspaceEvent } from '../../domain/events.ts';
import type { Queryable, SqlValue } from '../database.ts';
import { firstOpenGap } from './gap.ts';
import { eventFrom } from './row.ts';

/**
 * Race: events become visible out of order. Behind a place the answer ends before the first gap that may still be
 * filled, so a reader who goes on from the last id it got misses nothing (`gap.ts`); both are read from one
 * snapshot. The newest ones are answered as they are.
 */
export async function listEvents(
  db: Queryable,
  query: EventQuery,
): Promise<readonly WorkspaceEvent[]> {
  const params: SqlValue[] = [];
  const param = (value: SqlValue): string => `$${String(params.push(value))}`;
  const conditions = ['true'];
  if (query.owner !== undefined) conditions.push(`owner = ${param(query.owner)}`);
  if (query.workspaceId !== undefined) {
    conditions.push(`workspace_id = ${param(query.workspaceId)}`);
  }
  if (query.types !== undefined) conditions.push(`type = any(${param(query.types)}::text[])`);
  if (query.after !== undefined) {
    const after = `${param(query.after)}::bigint`;
    conditions.push(`id > ${after}`);
    conditions.push(`id < coalesce(${firstOpenGap(after)}, 9223372036854775807)`);
  }
  const rows = await db.query(
    `select id, at, workspace_id, owner, actor, type, detail
       from kb.workspace_events
      where ${conditions.join(' and ')}
      order by id ${query.after === undefined ? 'desc' : 'asc'}
      limit ${param(query.limit)}`,
    params,
  );
  return rows.map((row) => eventFrom(row));
}
