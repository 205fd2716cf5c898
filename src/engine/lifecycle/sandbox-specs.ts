import type { Seal } from '../../base/seal.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { RepositoryCredentials } from '../../domain/repository.ts';
import type { SandboxRef, SandboxSpec } from '../../domain/provider.ts';
import type { WorkspaceChanges } from '../../domain/store.ts';
import type { Workspace } from '../../domain/workspace.ts';

type Env = Readonly<Record<string, string>>;

/** Lies sealed beside the environment, whose own names may not begin like this; no sandbox ever sees it. */
const credentialsName = 'EMERGENT_REPOSITORY_CREDENTIALS';

/** What a provider needs to make a workspace's sandbox, from its row alone: also after a restart. */
export class SandboxSpecs {
  readonly #seal: Seal;

  constructor(seal: Seal) {
    this.#seal = seal;
  }

  sealEnv(env: Env, credentials?: RepositoryCredentials): string | null {
    const all = credentials ? { ...env, [credentialsName]: JSON.stringify(credentials) } : env;
    return Object.keys(all).length === 0 ? null : this.#seal.close(JSON.stringify(all));
  }

  /** What the repository is cloned with; undefined: nothing is needed. */
  repositoryCredentials(workspace: Workspace): RepositoryCredentials | undefined {
    const sealed = this.#opened(workspace)[credentialsName];
    return sealed === undefined ? undefined : (JSON.parse(sealed) as RepositoryCredentials);
  }

  /**
   * For the change to `ready`, before which the repository was cloned: nothing needs the credentials any more, so
   * they are not kept.
   */
  withoutCredentials(workspace: Workspace): Pick<WorkspaceChanges, 'sealedEnv'> {
    if (this.repositoryCredentials(workspace) === undefined) return {};
    return { sealedEnv: this.sealEnv(this.env(workspace)) };
  }

  of(workspace: Workspace): SandboxSpec {
    return {
      ...refOf(workspace),
      containerType: workspace.containerType,
      image: workspace.image,
      limits: workspace.resourceLimits,
      network: workspace.network,
      // That of an MCP server is its program's alone, and given to that: an engine would keep it where all can read it.
      env: workspace.mcpConfig === null ? this.env(workspace) : {},
      volumes: workspace.mcpConfig?.volumes ?? [],
    };
  }

  /** Of its commands; names that begin with EMERGENT_ are not among them. */
  env(workspace: Workspace): Env {
    const { [credentialsName]: _, ...env } = this.#opened(workspace);
    return env;
  }

  #opened({ id, sealedEnv }: Workspace): Env {
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
