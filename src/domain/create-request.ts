import type { Repository } from './repository.ts';
import type { DeploymentMode, NetworkMode } from './workspace.ts';

/** What a caller asks of a new workspace; everything left out takes the server's default. */
export interface CreateWorkspaceRequest {
  /** A provider's name, or "auto": the best healthy one. */
  readonly provider: string;
  readonly deploymentMode?: DeploymentMode;
  readonly image?: string;
  readonly limits: {
    readonly cpu?: number;
    readonly memoryBytes?: number;
    readonly diskBytes?: number;
  };
  readonly network: NetworkMode;
  readonly ttlSeconds?: number;
  readonly env: Readonly<Record<string, string>>;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly agentSessionId?: string;
  /** Cloned into /workspace before it is ready. */
  readonly repository?: Repository;
  /** False: answer at once with status `creating`; how it ended is in the row. */
  readonly wait: boolean;
}
