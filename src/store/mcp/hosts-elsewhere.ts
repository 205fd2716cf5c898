import type { Peer } from '../../domain/store.ts';
import type { Queryable } from '../database.ts';
import { integer, text } from '../row.ts';
import { aliveServer } from '../server.ts';

/** Race: a host may have gone when the answer arrives; whoever goes by it must expect that it is not there. */
export async function hostsElsewhere(
  db: Queryable,
  server: number,
  idOrName: string,
): Promise<ReadonlyMap<string, Peer>> {
  const rows = await db.query(
    `select hosted.workspace_id, address.number, address.url
       from kb.server_addresses address
       join kb.mcp_state hosted on hosted.host = address.number
       join kb.agent_workspaces workspace on workspace.id = hosted.workspace_id
      where address.number <> $1
        and (workspace.id::text = $2 or workspace.mcp_config ->> 'name' = $2)
        and ${aliveServer('address.number')}`,
    [server, idOrName],
  );
  return new Map(
    rows.map((row) => [
      text(row, 'workspace_id'),
      { number: integer(row, 'number'), url: text(row, 'url') },
    ]),
  );
}
