import type { McpState } from '../../domain/mcp.ts';
import type { Queryable } from '../database.ts';
import { encodeMcpState } from './state.ts';

/** Race: a server that another has taken the program from, while it was thought dead, writes nothing. */
export async function saveMcpState(
  db: Queryable,
  server: number,
  id: string,
  state: McpState,
): Promise<boolean> {
  const rows = await db.query(
    `update kb.mcp_state
        set state = $3
      where workspace_id = $1 and host = $2
     returning workspace_id`,
    [id, server, encodeMcpState(state)],
  );
  return rows.length > 0;
}
