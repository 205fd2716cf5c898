import type { Seal } from '../../base/seal.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { SandboxRef, SandboxSpec } from '../../domain/provider.ts';
import type { Workspace } from '../../domain/workspace.ts';

type Env = Readonly<Record<string, string>>;

/** What a provider needs to make a workspace's sandbox, from its row alone: also after a restart. */
export class SandboxSpecs {
  readonly #seal: Seal;

  constructor(seal: Seal) {
    this.#seal = seal;
  }

  sealEnv(env: Env): string | null {
    return Object.keys(env).length === 0 ? null : this.#seal.close(JSON.stringify(env));
  }

  of(workspace: Workspace): SandboxSpec {
    return {
      ...refOf(workspace),
      containerType: workspace.containerType,
      image: workspace.image,
      limits: workspace.resourceLimits,
      network: workspace.network,
      env: this.#env(workspace),
    };
  }

  #env({ id, sealedEnv }: Workspace): Env {
    if (sealedEnv === null) return {};
    try {
      return JSON.parse(this.#seal.open(sealedEnv)) as Env;
    } catch (error) {
      throw new EmergentError('provider_failed', `the environment of ${id} cannot be read`, {
        hint: 'Start the server with the EMERGENT_SECRET_KEY that it had when the workspace was created.',
        cause: error,
      });
    }
  }
}

export function refOf(workspace: Workspace): SandboxRef {
  return { workspaceId: workspace.id, sandboxName: workspace.providerWorkspaceId };
}
