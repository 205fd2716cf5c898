import type { NewWorkspace, Refused } from '../../domain/store.ts';
import type { Workspace } from '../../domain/workspace.ts';
import { admitMcpServer } from '../mcp/admit.ts';
import type { McpNames } from '../mcp/names.ts';
import { countRunning, type Admissions } from './admission.ts';
import { insertWorkspace } from './insert.ts';

/**
 * Race: the count and the insert are one admission, and admissions do not overlap (`admission.ts`). Rows leave the
 * count at any time, so a refusal may be old when it arrives, but the limit is never passed. MCP servers do not
 * count and are not counted against.
 */
export async function admitWorkspace(
  admissions: Admissions,
  names: McpNames,
  server: number,
  workspace: NewWorkspace,
  limit: number,
  at: Date,
): Promise<Workspace | Refused> {
  if (workspace.containerType !== 'agent_workspace') {
    return admitMcpServer(names, server, workspace, at);
  }
  return admissions.run(async (tx) => {
    const running = await countRunning(tx, workspace.id);
    return running < limit ? insertWorkspace(tx, server, workspace, at) : { running };
  });
}
