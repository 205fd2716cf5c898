import { randomBytes, randomUUID } from 'node:crypto';
import type { Installation } from '../domain/store.ts';
import type { Queryable } from './database.ts';
import { onlyRow } from './only-row.ts';
import { text } from './row.ts';

/** Race: of two servers that start on a new database the first insert stays, and both read that one. */
export async function readInstallation(db: Queryable): Promise<Installation> {
  await db.query(
    'insert into kb.installation (id, agent_key) values ($1, $2) on conflict do nothing',
    [randomUUID(), randomBytes(32).toString('hex')],
  );
  const row = onlyRow(await db.query('select id, agent_key from kb.installation'));
  return { id: text(row, 'id'), key: Buffer.from(text(row, 'agent_key'), 'hex') };
}
