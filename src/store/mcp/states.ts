import type { McpState } from '../../domain/mcp.ts';
import type { Queryable } from '../database.ts';
import { text } from '../row.ts';
import { mcpStateFrom } from './state.ts';

/** Race: one statement sees one state of the table; a host may have written another when the answer arrives. */
export async function mcpStates(
  db: Queryable,
  ids?: readonly string[],
): Promise<ReadonlyMap<string, McpState>> {
  const rows = await db.query(
    `select workspace_id, state
       from kb.mcp_state
      where state is not null and ($1::uuid[] is null or workspace_id = any($1))`,
    [ids ?? null],
  );
  return new Map(rows.map((row) => [text(row, 'workspace_id'), mcpStateFrom(row)]));
}
