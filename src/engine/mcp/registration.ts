import { randomUUID } from 'node:crypto';
import type { Caller } from '../../domain/caller.ts';
import type { ResourceLimits } from '../../domain/limits.ts';
import type { KeptVolumes, RegisterMcpServer } from '../../domain/mcp.ts';
import type { NewWorkspace } from '../../domain/store.ts';
import type { Workspace } from '../../domain/workspace.ts';
import { candidatesFor, rulesFor } from '../lifecycle/candidates.ts';
import type { Candidates, SelectionSettings } from '../lifecycle/candidates.ts';
import type { LifecycleContext } from '../lifecycle/context.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import { UncleanAttempt } from '../lifecycle/unclean-attempt.ts';
import type { WorkspaceDefaults } from '../new-workspace.ts';

export interface RegistrationOptions extends LifecycleContext, SelectionSettings {
  readonly lifecycle: Lifecycle;
  readonly defaults: Pick<WorkspaceDefaults, 'deploymentMode' | 'image'>;
}

/** What a server gets when the caller does not say. */
const defaultLimits: ResourceLimits = {
  cpu: 0.5,
  memoryBytes: 512 * 2 ** 20,
  diskBytes: 2 ** 30,
};

/** Makes the row and the sandbox of a server; its program is the host's. */
export class Registration {
  readonly #options: RegistrationOptions;

  constructor(options: RegistrationOptions) {
    this.#options = options;
  }

  async make(caller: Caller, request: RegisterMcpServer, signal: AbortSignal): Promise<Workspace> {
    const { providers, mcp } = this.#options;
    const { name } = request.config;
    const kept = (await mcp.kept(caller.tokenId)).find((each) => each.name === name);
    if (kept) return this.#onKept(caller, request, kept);
    const rules = rulesFor({ containerType: 'mcp_server' }, this.#options);
    const candidates = await candidatesFor(request.provider, providers, rules);
    return this.#create(caller, request, candidates, signal);
  }

  /** A provider that cannot even clean up keeps its row, and with it the name: no other can be tried then. */
  async #create(
    caller: Caller,
    request: RegisterMcpServer,
    candidates: Candidates,
    signal: AbortSignal,
  ): Promise<Workspace> {
    const { creation } = this.#options.lifecycle;
    const row = await creation.admit(this.#row(randomUUID(), caller, request, candidates.order[0]));
    try {
      return await creation.run(row, candidates, caller.tokenId, signal);
    } catch (error) {
      throw error instanceof UncleanAttempt ? error.why : error;
    }
  }

  /** On the files that an earlier server of this name has left; they stay whatever comes of it. */
  async #onKept(caller: Caller, request: RegisterMcpServer, kept: KeptVolumes): Promise<Workspace> {
    const { lifecycle } = this.#options;
    const row = this.#row(kept.id, caller, request, kept.provider);
    const restored = { ...row, providerWorkspaceId: kept.sandboxName, readyAt: kept.keptAt };
    const admitted = await lifecycle.creation.admit(restored);
    return lifecycle.suspension.finishResume(admitted, caller.tokenId);
  }

  #row(id: string, caller: Caller, request: RegisterMcpServer, provider: string): NewWorkspace {
    const { clock, specs, defaults } = this.#options;
    const now = clock.now();
    const image = request.image ?? defaults.image;
    return {
      ...{ id, provider, owner: caller.tokenId, agentSessionId: null, image },
      ...{ containerType: 'mcp_server', lifecycle: 'persistent', status: 'creating' },
      ...{ repositoryUrl: null, branch: null, deploymentMode: defaults.deploymentMode },
      ...{ desiredState: 'running', network: request.network, snapshotId: null },
      providerWorkspaceId: `emergent-${id}`,
      resourceLimits: { ...defaultLimits, ...request.limits },
      mcpConfig: request.config,
      metadata: request.metadata,
      sealedEnv: specs.sealEnv(request.env),
      ...{ pool: null, poolKey: null, announced: false, createdAt: now, lastUsedAt: now },
      ...{ ttlSeconds: null, expiresAt: null },
    };
  }
}
