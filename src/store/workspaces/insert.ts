import type { NewWorkspace } from '../../domain/store.ts';
import type { Workspace } from '../../domain/workspace.ts';
import type { Queryable } from '../database.ts';
import { noteChanged, noteValues } from '../events/note.ts';
import { encodeMcpConfig } from '../mcp/config.ts';
import { onlyRow } from '../only-row.ts';
import { encodeTime, encodeTimeOrNull } from '../row.ts';
import { encodeLimits, workspaceFrom } from './row.ts';

/** Race: the primary key lets one of two inserts of the same id through; the other one fails. */
export async function insertWorkspace(
  db: Queryable,
  server: number,
  workspace: NewWorkspace,
  at: Date,
): Promise<Workspace> {
  const { owner, provider, image, pool, readyAt } = workspace;
  const status = readyAt ? 'resuming' : 'creating';
  const rows = await db.query(
    `with changed as (
       insert into kb.agent_workspaces (
         id, owner, agent_session_id, container_type, provider, provider_workspace_id, image,
         repository_url, branch, deployment_mode, lifecycle, status, desired_state, network,
         resource_limits, snapshot_id, mcp_config, metadata, sealed_env, announced, created_at,
         last_used_at, ttl_seconds, expires_at, pool, pool_key, operator, ready_at
       ) values (
         $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $28, $12, $13, $14, $15, $16, $17, $18,
         $19, $20, $21, $22, $23, $24, $25, $26, $27
       )
       returning *
     ), noted as (${noteChanged(29)})
     select * from changed`,
    [
      workspace.id,
      owner,
      workspace.agentSessionId,
      workspace.containerType,
      provider,
      workspace.providerWorkspaceId,
      image,
      workspace.repositoryUrl,
      workspace.branch,
      workspace.deploymentMode,
      workspace.lifecycle,
      workspace.desiredState,
      workspace.network,
      encodeLimits(workspace.resourceLimits),
      workspace.snapshotId,
      encodeMcpConfig(workspace.mcpConfig),
      JSON.stringify(workspace.metadata),
      workspace.sealedEnv,
      workspace.announced,
      encodeTime(workspace.createdAt),
      encodeTime(workspace.lastUsedAt),
      workspace.ttlSeconds,
      encodeTimeOrNull(workspace.expiresAt),
      pool,
      workspace.poolKey,
      server,
      encodeTimeOrNull(readyAt ?? null),
      status,
      ...noteValues({
        at,
        by: owner,
        type: `workspace.${status}`,
        detail: { provider, image, ...(pool === null ? {} : { pool }) },
      }),
    ],
  );
  return workspaceFrom(onlyRow(rows));
}
