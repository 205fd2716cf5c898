import type { Queryable } from '../database.ts';
import { noteChanged, noteValues, type ChangeNote } from '../events/note.ts';

/**
 * Race: a row that another server has taken over stays, for that one to remove; of two removals at once one removes
 * it, the other finds none.
 */
export async function removeWorkspace(
  db: Queryable,
  server: number,
  id: string,
  note: Omit<ChangeNote, 'type'>,
): Promise<boolean> {
  const rows = await db.query(
    `with changed as (
       delete from kb.agent_workspaces
        where id = $1 and status = 'destroying' and operator = $2
       returning id, owner
     ), noted as (${noteChanged(3)})
     select id from changed`,
    [id, server, ...noteValues({ ...note, type: 'workspace.destroyed' })],
  );
  return rows.length > 0;
}
