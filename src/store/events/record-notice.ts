import { noticeOwner, type Notice } from '../../domain/events.ts';
import type { Queryable } from '../database.ts';
import { encodeTime } from '../row.ts';
import { encodeDetail } from './note.ts';

/** Race: none; a notice is of no row. */
export async function recordNotice(db: Queryable, notice: Notice): Promise<void> {
  await db.query(
    `insert into kb.workspace_events (at, workspace_id, owner, actor, type, detail)
     values ($1::timestamptz, null, $2, $3, $4, $5)`,
    [encodeTime(notice.at), noticeOwner, notice.actor, notice.type, encodeDetail(notice.detail)],
  );
}
