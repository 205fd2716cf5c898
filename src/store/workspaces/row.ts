import type { ResourceLimits } from '../../domain/limits.ts';
import {
  containerTypes,
  deploymentModes,
  desiredStates,
  lifecycles,
  networkModes,
  workspaceStatuses,
  type Workspace,
} from '../../domain/workspace.ts';
import type { Row } from '../database.ts';
import { mcpConfigFrom } from '../mcp/config.ts';
import {
  boolean,
  integer,
  integerOrNull,
  object,
  oneOf,
  text,
  textOrNull,
  time,
  timeOrNull,
  unexpected,
} from '../row.ts';

export function workspaceFrom(row: Row): Workspace {
  return {
    id: text(row, 'id'),
    owner: text(row, 'owner'),
    agentSessionId: textOrNull(row, 'agent_session_id'),
    containerType: oneOf(row, 'container_type', containerTypes),
    provider: text(row, 'provider'),
    providerWorkspaceId: text(row, 'provider_workspace_id'),
    image: text(row, 'image'),
    repositoryUrl: textOrNull(row, 'repository_url'),
    branch: textOrNull(row, 'branch'),
    deploymentMode: oneOf(row, 'deployment_mode', deploymentModes),
    lifecycle: oneOf(row, 'lifecycle', lifecycles),
    status: oneOf(row, 'status', workspaceStatuses),
    statusReason: textOrNull(row, 'status_reason'),
    desiredState: oneOf(row, 'desired_state', desiredStates),
    network: oneOf(row, 'network', networkModes),
    resourceLimits: limitsFrom(row),
    snapshotId: textOrNull(row, 'snapshot_id'),
    mcpConfig: mcpConfigFrom(row),
    metadata: object(row, 'metadata'),
    sealedEnv: textOrNull(row, 'sealed_env'),
    announced: boolean(row, 'announced'),
    createdAt: time(row, 'created_at'),
    readyAt: timeOrNull(row, 'ready_at'),
    lastUsedAt: time(row, 'last_used_at'),
    ttlSeconds: integerOrNull(row, 'ttl_seconds'),
    expiresAt: timeOrNull(row, 'expires_at'),
    pool: textOrNull(row, 'pool'),
    poolKey: textOrNull(row, 'pool_key'),
    version: integer(row, 'version'),
  };
}

/** The column, or the member of a JSON column, `resource_limits`. */
export function limitsFrom(row: Row): ResourceLimits {
  const limits = object(row, 'resource_limits');
  const { cpu, memory_bytes: memoryBytes, disk_bytes: diskBytes } = limits;
  if (typeof cpu !== 'number' || typeof memoryBytes !== 'number' || typeof diskBytes !== 'number') {
    throw unexpected('resource_limits', limits);
  }
  return { cpu, memoryBytes, diskBytes };
}

export function limitsObject(limits: ResourceLimits): Readonly<Record<string, number>> {
  return { cpu: limits.cpu, memory_bytes: limits.memoryBytes, disk_bytes: limits.diskBytes };
}

export function encodeLimits(limits: ResourceLimits): string {
  return JSON.stringify(limitsObject(limits));
}
