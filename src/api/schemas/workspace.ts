import { z } from 'zod';
import { formatSize } from '../../domain/limits.ts';
import type { ResourceLimits } from '../../domain/limits.ts';
import type { WorkspacePage, WorkspaceQuery } from '../../domain/store.ts';
import {
  containerTypes,
  deploymentModes,
  desiredStates,
  lifecycles,
  networkModes,
  workspaceStatuses,
} from '../../domain/workspace.ts';
import type { Workspace } from '../../domain/workspace.ts';
import { id, text, timestamp } from './text.ts';

export const presentedLimits = z.object({
  cpu: z.number().describe('Cores.'),
  memory: z.string().describe('Such as "4G"; bytes where no unit divides it.'),
  disk: z.string(),
});

export const workspace = z
  .object({
    id,
    owner: z.string().describe('The id of the token that created it.'),
    agent_session_id: z.string().nullable(),
    container_type: z.enum(containerTypes),
    provider: z.string(),
    provider_workspace_id: z.string().describe("The provider's own name for the sandbox."),
    image: z.string(),
    repository_url: z.string().nullable(),
    branch: z.string().nullable(),
    deployment_mode: z.enum(deploymentModes),
    lifecycle: z.enum(lifecycles),
    status: z.enum(workspaceStatuses),
    status_reason: z.string().nullable(),
    desired_state: z.enum(desiredStates),
    network: z.enum(networkModes),
    resource_limits: presentedLimits,
    snapshot_id: z.string().nullable(),
    metadata: z.record(z.string(), z.unknown()),
    created_at: timestamp,
    ready_at: timestamp.nullable().describe('When it was first ready; null: it never was.'),
    last_used_at: timestamp,
    ttl_seconds: z.int().nullable().describe('How far each use moves expires_at ahead.'),
    expires_at: timestamp.nullable().describe('Null: never.'),
    version: z.int().describe('Raised by every change of status.'),
  })
  .meta({ id: 'Workspace' });

export const listWorkspacesQuery = z.strictObject({
  status: z.enum(workspaceStatuses).optional(),
  provider: text(64).optional(),
  container_type: z
    .enum(containerTypes)
    .default('agent_workspace')
    .describe('The sandboxes of MCP servers are listed only where they are asked for.'),
  limit: z.coerce.number<string>().int().min(1).max(200).default(50),
  cursor: text(1024).optional().describe("An earlier page's next_cursor."),
});

export const workspacePage = z
  .object({
    items: z.array(workspace).describe('Newest first.'),
    next_cursor: z.string().nullable().describe('Null: this is the last page.'),
  })
  .meta({ id: 'WorkspacePage' });

export const destroyedWorkspace = z
  .object({ id, status: z.literal('destroyed') })
  .meta({ id: 'DestroyedWorkspace' });

/** What a caller sees. The MCP configuration and the environment may hold secrets and stay inside. */
export function presentWorkspace(from: Workspace): z.output<typeof workspace> {
  return {
    id: from.id,
    owner: from.owner,
    agent_session_id: from.agentSessionId,
    container_type: from.containerType,
    provider: from.provider,
    provider_workspace_id: from.providerWorkspaceId,
    image: from.image,
    repository_url: from.repositoryUrl,
    branch: from.branch,
    deployment_mode: from.deploymentMode,
    lifecycle: from.lifecycle,
    status: from.status,
    status_reason: from.statusReason,
    desired_state: from.desiredState,
    network: from.network,
    resource_limits: presentLimits(from.resourceLimits),
    snapshot_id: from.snapshotId,
    metadata: from.metadata,
    created_at: from.createdAt.toISOString(),
    ready_at: from.readyAt?.toISOString() ?? null,
    last_used_at: from.lastUsedAt.toISOString(),
    ttl_seconds: from.ttlSeconds,
    expires_at: from.expiresAt?.toISOString() ?? null,
    version: from.version,
  };
}

export function toWorkspaceQuery(
  query: z.output<typeof listWorkspacesQuery>,
): Omit<WorkspaceQuery, 'owner'> {
  const { status, provider, container_type: containerType, limit, cursor } = query;
  return {
    limit,
    containerType,
    ...(status && { status }),
    ...(provider !== undefined && { provider }),
    ...(cursor !== undefined && { cursor }),
  };
}

export function presentPage({ items, nextCursor }: WorkspacePage): z.output<typeof workspacePage> {
  return { items: items.map(presentWorkspace), next_cursor: nextCursor };
}

export function presentLimits({
  cpu,
  memoryBytes,
  diskBytes,
}: ResourceLimits): z.output<typeof presentedLimits> {
  return { cpu, memory: formatSize(memoryBytes), disk: formatSize(diskBytes) };
}
