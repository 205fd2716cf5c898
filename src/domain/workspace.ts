import type { ResourceLimits } from './limits.ts';
import type { McpServerConfig } from './mcp-config.ts';

/**
 * creating -> ready -> stopping -> stopped -> resuming -> ready      warm (pool) -> ready
 * any -> destroying -> row removed      any but destroying -> error -> resuming (recover) | destroying
 */
export const workspaceStatuses = [
  'creating',
  'ready',
  'stopping',
  'stopped',
  'resuming',
  'warm',
  'destroying',
  'error',
] as const;
export type WorkspaceStatus = (typeof workspaceStatuses)[number];

/** While a row has one of these, one server is at work on it: its operator. */
export const changingStatuses = ['creating', 'stopping', 'resuming', 'destroying'] as const;
export type ChangingStatus = (typeof changingStatuses)[number];
export type RestingStatus = Exclude<WorkspaceStatus, ChangingStatus>;

export function isChanging(status: WorkspaceStatus): status is ChangingStatus {
  return (changingStatuses as readonly WorkspaceStatus[]).includes(status);
}

/** What counts against the limit of concurrent workspaces; those of a pool do not. */
export const runningStatuses = ['creating', 'ready', 'resuming'] as const;

export const containerTypes = ['agent_workspace', 'mcp_server'] as const;
export type ContainerType = (typeof containerTypes)[number];

export const deploymentModes = ['self-hosted', 'managed'] as const;
export type DeploymentMode = (typeof deploymentModes)[number];

export const lifecycles = ['ephemeral', 'persistent'] as const;
export type Lifecycle = (typeof lifecycles)[number];

export const networkModes = ['nat', 'isolated'] as const;
export type NetworkMode = (typeof networkModes)[number];

export const desiredStates = ['running', 'stopped'] as const;
export type DesiredState = (typeof desiredStates)[number];

export interface Workspace {
  readonly id: string;
  /** The id of the token that created it. */
  readonly owner: string;
  readonly agentSessionId: string | null;
  readonly containerType: ContainerType;
  /** The provider that runs it, by name. */
  readonly provider: string;
  /** The provider's own name for the sandbox; decided before it is created. */
  readonly providerWorkspaceId: string;
  readonly image: string;
  readonly repositoryUrl: string | null;
  readonly branch: string | null;
  readonly deploymentMode: DeploymentMode;
  readonly lifecycle: Lifecycle;
  readonly status: WorkspaceStatus;
  /** Why the status is what it is, when that needs saying (mostly `error`). */
  readonly statusReason: string | null;
  readonly desiredState: DesiredState;
  readonly network: NetworkMode;
  readonly resourceLimits: ResourceLimits;
  readonly snapshotId: string | null;
  /** Of an MCP server; null for all others. */
  readonly mcpConfig: McpServerConfig | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** The environment of its commands, sealed (base/seal.ts); null: none was given. */
  readonly sealedEnv: string | null;
  /**
   * Whether a caller has been told the id while it was still being created: such a creation is finished after
   * a crash, one that nobody waits for any more is undone.
   */
  readonly announced: boolean;
  readonly createdAt: Date;
  /** When it was first ready; null: it never was, so it holds nothing of its user's. */
  readonly readyAt: Date | null;
  readonly lastUsedAt: Date;
  /** How far each use moves `expiresAt` ahead; null with it. */
  readonly ttlSeconds: number | null;
  /** Null: never expires. */
  readonly expiresAt: Date | null;
  /** The warm pool that it waits in, or is being made for; null once somebody has it. */
  readonly pool: string | null;
  /** Which requests it serves while it waits there (domain/warm-pool.ts); null with it. */
  readonly poolKey: string | null;
  /** Raised by every change of status. */
  readonly version: number;
}
