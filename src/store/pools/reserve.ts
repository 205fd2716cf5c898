import type { NewWorkspace } from '../../domain/store.ts';
import type { Workspace } from '../../domain/workspace.ts';
import type { OneAtATime } from '../one-at-a-time.ts';
import { onlyRow } from '../only-row.ts';
import { integer } from '../row.ts';
import { insertWorkspace } from '../workspaces/insert.ts';

/**
 * Race: the count and the insert are one reservation, and reservations do not overlap; the count is a statement of
 * its own, so that it sees the row of the one before. Members leave the count at any time, so the pool may be short
 * of one that was refused, but never has too many. Reservations do not hold up admissions.
 */
export async function reserveMember(
  reservations: OneAtATime,
  server: number,
  member: NewWorkspace,
  size: number,
  at: Date,
): Promise<Workspace | undefined> {
  return reservations.run(async (tx) => {
    const rows = await tx.query(
      `select count(*) as members
         from kb.agent_workspaces
        where pool = $1 and pool_key = $2 and status in ('creating', 'warm')`,
      [member.pool, member.poolKey],
    );
    if (integer(onlyRow(rows), 'members') >= size) return undefined;
    return insertWorkspace(tx, server, member, at);
  });
}
