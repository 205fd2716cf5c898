import type { Caller } from '../../domain/caller.ts';
import type { McpStore, Peer, PeerStore, WorkspaceStore } from '../../domain/store.ts';
import { McpAccess } from './access.ts';
import type { McpHost } from './host.ts';

/** Whose requests for MCP servers are: those of another server of ours are passed on to it. */
export interface McpPeers {
  /** Of this server. */
  readonly number: number;
  /**
   * The other server of ours that hosts what the caller means by `idOrName`, where it can be reached. Undefined: it is
   * for this one to answer, also where there is no such server for this caller.
   */
  hostOf(caller: Caller, idOrName: string): Promise<Peer | undefined>;
}

export interface McpPeersOptions {
  readonly store: Pick<WorkspaceStore, 'get'>;
  readonly mcp: Pick<McpStore, 'find'>;
  readonly peers: PeerStore;
  readonly host: Pick<McpHost, 'find'>;
}

export function mcpPeers({ store, mcp, peers, host }: McpPeersOptions): McpPeers {
  const access = new McpAccess(store, mcp);
  return {
    number: peers.number,
    async hostOf(caller, idOrName) {
      // What is hosted here is known without the database, which a call would mostly be waiting for.
      if (host.find(idOrName, caller.tokenId)) return undefined;
      const hosts = await peers.hostsOf(idOrName);
      if (hosts.size === 0) return undefined;
      const [meant, ...others] = await access.meant(caller, idOrName);
      return meant && others.length === 0 ? hosts.get(meant.id) : undefined;
    },
  };
}
