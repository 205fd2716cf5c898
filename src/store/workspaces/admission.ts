import { runningStatuses } from '../../domain/workspace.ts';
import type { Database, Transaction } from '../database.ts';
import { OneAtATime } from '../one-at-a-time.ts';
import { onlyRow } from '../only-row.ts';
import { integer } from '../row.ts';

/**
 * One admission at a time in the whole installation: of two that count at the same time, both would find the last
 * slot free.
 */
export class Admissions extends OneAtATime {
  constructor(database: Database) {
    super(database, 'admission', '6093113548275098217');
  }
}

/**
 * How many agent workspaces run, other than this one, which needs no second slot if it has one. Race: to be asked
 * under the lock, in a statement of its own: one that took the lock and counted would count in a snapshot from
 * before it had the lock, without the row that the holder before it wrote. The function `kb.claim_member` counts the same.
 */
export async function countRunning(tx: Transaction, otherThan: string): Promise<number> {
  const rows = await tx.query(
    `select count(*) as running
       from kb.agent_workspaces
      where container_type = 'agent_workspace' and status = any($1::text[]) and pool is null
        and id <> $2`,
    [runningStatuses, otherThan],
  );
  return integer(onlyRow(rows), 'running');
}
