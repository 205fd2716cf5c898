import type { Caller } from '../../domain/caller.ts';
import { maySee } from '../../domain/caller.ts';
import { EmergentError } from '../../domain/errors.ts';
import { mcpConfigOf } from '../../domain/mcp.ts';
import type { McpStore, WorkspaceStore } from '../../domain/store.ts';
import type { Workspace } from '../../domain/workspace.ts';

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Which server a caller means, and what it may do with it. */
export class McpAccess {
  readonly #store: Pick<WorkspaceStore, 'get'>;
  readonly #mcp: Pick<McpStore, 'find'>;

  constructor(store: Pick<WorkspaceStore, 'get'>, mcp: Pick<McpStore, 'find'>) {
    this.#store = store;
    this.#mcp = mcp;
  }

  /** To look at it and to call it. */
  async toUse(caller: Caller, idOrName: string): Promise<Workspace> {
    const [first, ...others] = await this.meant(caller, idOrName);
    if (!first) {
      throw new EmergentError('mcp_server_not_found', `there is no MCP server "${idOrName}"`);
    }
    if (others.length === 0) return first;
    throw new EmergentError('invalid_value', `several MCP servers are called "${idOrName}"`, {
      hint: 'Use the id of the one that you mean.',
      details: { ids: [first, ...others].map(({ id }) => id) },
    });
  }

  /** Those that the caller may mean; several where a name alone does not tell. */
  async meant(caller: Caller, idOrName: string): Promise<readonly Workspace[]> {
    const found = uuid.test(idOrName) ? await this.#byId(idOrName) : await this.#mcp.find(idOrName);
    return preferred(
      caller,
      found.filter((workspace) => mayUse(caller, workspace)),
    );
  }

  async toChange(caller: Caller, idOrName: string): Promise<Workspace> {
    const workspace = await this.toUse(caller, idOrName);
    if (maySee(caller, workspace)) return workspace;
    throw new EmergentError('forbidden', 'it is shared for use; only its owner may change it');
  }

  async #byId(id: string): Promise<readonly Workspace[]> {
    const workspace = await this.#store.get(id);
    return workspace?.mcpConfig ? [workspace] : [];
  }
}

export function mayUse(caller: Caller, workspace: Workspace): boolean {
  return mayUseServer(caller, { owner: workspace.owner, shared: mcpConfigOf(workspace).shared });
}

/** By what does not change about it. */
export function mayUseServer(
  caller: Caller,
  server: Pick<Workspace, 'owner'> & { readonly shared: boolean },
): boolean {
  return maySee(caller, server) || server.shared;
}

/** A name means one's own before anybody else's. */
function preferred(caller: Caller, found: readonly Workspace[]): readonly Workspace[] {
  const own = found.filter(({ owner }) => owner === caller.tokenId);
  return own.length > 0 ? own : found;
}
