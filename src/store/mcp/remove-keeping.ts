import { noteChanged, noteValues, type ChangeNote } from '../events/note.ts';
import { encodeTime } from '../row.ts';
import type { McpNames } from './names.ts';

/**
 * A server without volumes leaves nothing to keep. Race: as of `removeWorkspace`; the note of the volumes is written by
 * the same statement, and no admission of the same name runs at the same time (`names.ts`).
 */
export async function removeKeeping(
  names: McpNames,
  server: number,
  id: string,
  note: Omit<ChangeNote, 'type'>,
): Promise<boolean> {
  return names.run(async (tx) => {
    const rows = await tx.query(
      `with changed as (
         delete from kb.agent_workspaces
          where id = $1 and status = 'destroying' and operator = $2
            and container_type = 'mcp_server'
         returning id, owner, provider, provider_workspace_id, mcp_config
       ), kept as (
         insert into kb.kept_volumes (id, owner, name, provider, sandbox_name, paths, kept_at)
         select id, owner, mcp_config ->> 'name', provider, provider_workspace_id,
                mcp_config -> 'volumes', $3::timestamptz
           from changed
          where mcp_config -> 'volumes' <> '[]'
       ), noted as (${noteChanged(4)})
       select id from changed`,
      [id, server, encodeTime(note.at), ...noteValues({ ...note, type: 'workspace.destroyed' })],
    );
    return rows.length > 0;
  });
}
