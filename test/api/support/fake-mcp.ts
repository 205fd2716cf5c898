import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import type { Caller } from '../../../src/domain/caller.ts';
import { EmergentError } from '../../../src/domain/errors.ts';
import type { JsonRpcOutcome, JsonRpcRequest } from '../../../src/domain/json-rpc.ts';
import type { KeptVolumes, McpLogLine, McpServer } from '../../../src/domain/mcp.ts';
import { untriedMcpState } from '../../../src/domain/mcp.ts';
import type { RegisterMcpServer } from '../../../src/domain/mcp.ts';
import type {
  McpCallNote,
  McpHttpTarget,
  McpOperations,
  McpTarget,
} from '../../../src/engine/mcp/operations.ts';
import type { HostedProgram } from './mcp-program.ts';

type Place = HostedProgram | McpHttpTarget | EmergentError;

interface Entry {
  server: McpServer;
  place: Place;
}

/** Hosts programs of this process, without sandboxes, rows and restarts: those are for the tests to make happen. */
export class FakeMcp implements McpOperations {
  readonly notes: McpCallNote[] = [];
  readonly asked: string[] = [];
  readonly events = new EventEmitter();
  logLines: McpLogLine[] = [];
  kept: KeptVolumes[] = [];
  outcome: JsonRpcOutcome = { result: { tools: [] } };
  /** Why nobody can tell what its servers use. */
  unmeasured: Error = new EmergentError('unsupported', 'it cannot be measured');
  readonly #entries = new Map<string, Entry>();

  add(request: RegisterMcpServer, owner: string, place: Place): McpServer {
    const server = serverFrom(request, owner, place);
    this.#entries.set(server.workspace.id, { server, place });
    return server;
  }

  /** Another program, or the reason why there is none. */
  replace(id: string, place: Place): void {
    this.#find(id).place = place;
  }

  /** The note of the next tool that was called. */
  async noted(): Promise<McpCallNote> {
    if (this.notes.length === 0) await once(this.events, 'note');
    return this.notes.shift() as McpCallNote;
  }

  async register({ tokenId }: Caller, request: RegisterMcpServer): Promise<McpServer> {
    this.asked.push('register');
    return this.add(request, tokenId, new EmergentError('mcp_unavailable', 'it has not started'));
  }

  async get(caller: Caller, id: string): Promise<McpServer> {
    return this.#find(id, caller).server;
  }

  async list(): Promise<readonly McpServer[]> {
    return [...this.#entries.values()].map(({ server }) => server);
  }

  async stop(caller: Caller, id: string): Promise<McpServer> {
    return this.#changed('stop', caller, id);
  }

  async start(caller: Caller, id: string): Promise<McpServer> {
    return this.#changed('start', caller, id);
  }

  async restart(caller: Caller, id: string): Promise<McpServer> {
    return this.#changed('restart', caller, id);
  }

  async delete(
    caller: Caller,
    id: string,
    { keepVolumes }: { readonly keepVolumes: boolean },
  ): Promise<KeptVolumes | undefined> {
    const { server } = this.#find(id, caller);
    this.#entries.delete(server.workspace.id);
    return keepVolumes ? keptOf(server) : undefined;
  }

  async target(caller: Caller, id: string): Promise<McpTarget> {
    const { server, place } = this.#find(id, caller);
    const serverId = server.workspace.id;
    if (place instanceof EmergentError) throw place;
    return 'bridge' in place
      ? { kind: 'stdio', id: serverId, connection: place.bridge }
      : { kind: 'http', id: serverId, target: place };
  }

  noteCall(_caller: Caller, _server: string, call: McpCallNote): void {
    this.notes.push(call);
    this.events.emit('note');
  }

  async call(caller: Caller, id: string, request: JsonRpcRequest): Promise<JsonRpcOutcome> {
    this.#find(id, caller);
    this.asked.push(`call ${request.method}`);
    return this.outcome;
  }

  async logs(caller: Caller, id: string, limit: number): Promise<readonly McpLogLine[]> {
    this.#find(id, caller);
    return limit === 0 ? [] : this.logLines.slice(-limit);
  }

  async *followLogs(caller: Caller, id: string, limit: number): AsyncGenerator<McpLogLine> {
    yield* await this.logs(caller, id, limit);
  }

  async keptVolumes(): Promise<readonly KeptVolumes[]> {
    return this.kept;
  }

  async removeKeptVolumes(_caller: Caller, id: string): Promise<void> {
    const before = this.kept.length;
    this.kept = this.kept.filter((one) => one.id !== id);
    if (this.kept.length === before) {
      throw new EmergentError('volumes_not_found', `nothing was kept of ${id}`);
    }
  }

  #changed(what: string, caller: Caller, id: string): McpServer {
    this.asked.push(what);
    return this.#find(id, caller).server;
  }

  #find(id: string, caller?: Caller): Entry {
    for (const entry of this.#entries.values()) {
      const { workspace, config } = entry.server;
      if (workspace.id !== id && config.name !== id) continue;
      const mayUse = !caller || caller.role === 'admin' || config.shared;
      if (mayUse || workspace.owner === caller.tokenId) return entry;
    }
    throw new EmergentError('mcp_server_not_found', `there is no MCP server ${id}`);
  }
}

function serverFrom(request: RegisterMcpServer, owner: string, place: Place): McpServer {
  const now = new Date();
  const id = randomUUID();
  const introduction = 'bridge' in place ? place.bridge.introduction : null;
  return {
    workspace: {
      ...{ id, owner, agentSessionId: null, containerType: 'mcp_server', provider: 'fake' },
      ...{ providerWorkspaceId: `fake-${id}`, image: request.image ?? 'base', repositoryUrl: null },
      ...{ branch: null, deploymentMode: 'self-hosted', lifecycle: 'persistent', status: 'ready' },
      ...{ statusReason: null, desiredState: 'running', network: request.network },
      resourceLimits: { cpu: 0.5, memoryBytes: 2 ** 29, diskBytes: 2 ** 30, ...request.limits },
      ...{ snapshotId: null, mcpConfig: request.config, metadata: request.metadata },
      ...{ sealedEnv: null, announced: true, createdAt: now, readyAt: now, lastUsedAt: now },
      ...{ ttlSeconds: null, expiresAt: null, pool: null, poolKey: null, version: 1 },
    },
    config: request.config,
    state: {
      ...untriedMcpState,
      run: { processId: 'p', introduction, startedAt: now },
      lastExit: { exitCode: 1, signal: null, at: now },
    },
    health: {
      ...{ state: 'healthy', reason: null, crashLooping: false },
      ...{ nextStartAt: null, lastHeardAt: now },
    },
    ...{ inFlight: 0, clients: 0, strayLines: 0 },
  };
}

function keptOf({ workspace, config }: McpServer): KeptVolumes {
  return {
    id: workspace.id,
    owner: workspace.owner,
    name: config.name,
    provider: workspace.provider,
    sandboxName: workspace.providerWorkspaceId,
    paths: config.volumes,
    keptAt: new Date(),
  };
}
