import { EmergentError } from '../../domain/errors.ts';
import type { Transaction } from '../database.ts';
import { text } from '../row.ts';

/** The server that is to be admitted. */
export interface NamedServer {
  readonly id: string;
  readonly owner: string;
  readonly name: string;
}

/**
 * Kept volumes of this id and name are no longer kept; any others that stand in the way are a `name_taken`. Race: to be
 * asked under the lock of `McpNames`, in a statement of its own, so that it sees what the holder before has kept.
 */
export async function takeUpKept(tx: Transaction, { id, owner, name }: NamedServer): Promise<void> {
  const rows = await tx.query(
    `select id, owner, name
       from kb.kept_volumes
      where id = $1 or (owner = $2 and name = $3)
        for update`,
    [id, owner, name],
  );
  for (const row of rows) {
    const own =
      text(row, 'id') === id && text(row, 'owner') === owner && text(row, 'name') === name;
    if (!own)
      throw nameTaken(name, `volumes of the deleted MCP server ${text(row, 'id')} are kept`);
  }
  await tx.query('delete from kb.kept_volumes where id = $1', [id]);
}

export function nameTaken(name: string, why: string): EmergentError {
  return new EmergentError('name_taken', `the name "${name}" is taken: ${why}`, {
    details: { name },
  });
}
