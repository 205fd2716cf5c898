import type { Queryable } from '../database.ts';

/** Race: of several at once, and of an admission that takes them up, one finds the note. */
export async function forgetKept(db: Queryable, id: string): Promise<boolean> {
  const rows = await db.query('delete from kb.kept_volumes where id = $1 returning id', [id]);
  return rows.length > 0;
}
