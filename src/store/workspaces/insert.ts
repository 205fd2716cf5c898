import type { NewWorkspace } from '../../domain/store.ts';
import type { Workspace } from '../../domain/workspace.ts';
import type { Queryable } from '../database.ts';
import { onlyRow } from '../only-row.ts';
import { encodeTime, encodeTimeOrNull } from '../row.ts';
import { encodeLimits, workspaceFrom } from './row.ts';

/** Race: the primary key lets one of two inserts of the same id through; the other one fails. */
export async function insertWorkspace(db: Queryable, workspace: NewWorkspace): Promise<Workspace> {
  const rows = await db.query(
    `insert into kb.agent_workspaces (
       id, owner, agent_session_id, container_type, provider, provider_workspace_id, image, repository_url,
       branch, deployment_mode, lifecycle, status, desired_state, network, resource_limits, snapshot_id,
       mcp_config, metadata, created_at, last_used_at, expires_at
     ) values (
       $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21
     )
     returning *`,
    [
      workspace.id,
      workspace.owner,
      workspace.agentSessionId,
      workspace.containerType,
      workspace.provider,
      workspace.providerWorkspaceId,
      workspace.image,
      workspace.repositoryUrl,
      workspace.branch,
      workspace.deploymentMode,
      workspace.lifecycle,
      workspace.status,
      workspace.desiredState,
      workspace.network,
      encodeLimits(workspace.resourceLimits),
      workspace.snapshotId,
      workspace.mcpConfig === null ? null : JSON.stringify(workspace.mcpConfig),
      JSON.stringify(workspace.metadata),
      encodeTime(workspace.createdAt),
      encodeTime(workspace.lastUsedAt),
      encodeTimeOrNull(workspace.expiresAt),
    ],
  );
  return workspaceFrom(onlyRow(rows));
}
