import type { Caller } from '../domain/caller.ts';
import type { CreateWorkspaceRequest } from '../domain/create-request.ts';
import type { ResourceLimits } from '../domain/limits.ts';
import type { NewWorkspace } from '../domain/store.ts';
import type { DeploymentMode } from '../domain/workspace.ts';

/** What a workspace gets when the caller does not say. */
export interface WorkspaceDefaults {
  readonly image: string;
  readonly limits: ResourceLimits;
  readonly ttlSeconds: number;
  readonly deploymentMode: DeploymentMode;
}

/** The row as it is written before anything is created; which provider and what secrets is decided elsewhere. */
export function newRow(
  id: string,
  caller: Caller,
  request: CreateWorkspaceRequest,
  defaults: WorkspaceDefaults,
  now: Date,
): Omit<NewWorkspace, 'provider' | 'sealedEnv'> {
  const ttlSeconds = request.ttlSeconds ?? defaults.ttlSeconds;
  return {
    id,
    owner: caller.tokenId,
    agentSessionId: request.agentSessionId ?? null,
    containerType: 'agent_workspace',
    providerWorkspaceId: `emergent-${id}`,
    image: request.image ?? defaults.image,
    repositoryUrl: request.repository?.url ?? null,
    branch: request.repository?.branch ?? null,
    deploymentMode: request.deploymentMode ?? defaults.deploymentMode,
    lifecycle: 'ephemeral',
    status: 'creating',
    desiredState: 'running',
    network: request.network,
    resourceLimits: { ...defaults.limits, ...request.limits },
    snapshotId: null,
    mcpConfig: null,
    metadata: request.metadata,
    pool: null,
    poolKey: null,
    announced: !request.wait,
    createdAt: now,
    lastUsedAt: now,
    ttlSeconds,
    expiresAt: new Date(now.getTime() + ttlSeconds * 1000),
  };
}
