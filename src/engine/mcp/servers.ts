import { requireAdmin } from '../../domain/caller.ts';
import type { Caller } from '../../domain/caller.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { JsonRpcOutcome, JsonRpcRequest } from '../../domain/json-rpc.ts';
import { mcpConfigOf } from '../../domain/mcp.ts';
import type { KeptVolumes, McpLogLine, McpServer, RegisterMcpServer } from '../../domain/mcp.ts';
import type { McpStore } from '../../domain/store.ts';
import type { Workspace } from '../../domain/workspace.ts';
import type { LifecycleContext } from '../lifecycle/context.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import { mayUse, mayUseServer, McpAccess } from './access.ts';
import { callOnce } from './call-once.ts';
import type { CallNotes } from './call-notes.ts';
import type { McpHost } from './host.ts';
import type { McpCallNote, McpOperations, McpTarget } from './operations.ts';
import type { Registration } from './registration.ts';
import type { Supervisor } from './supervisor.ts';
import { viewOf } from './view.ts';

export interface McpServersOptions extends LifecycleContext {
  readonly mcp: McpStore;
  readonly lifecycle: Lifecycle;
  readonly registration: Registration;
  readonly host: McpHost;
  readonly notes: CallNotes;
}

/** Beyond what a program has to introduce itself: its sandbox may have to be started first. */
const sandboxSlackMs = 60_000;
/** Whoever calls a server that is just being started has somebody waiting, too. */
const longestCallerWaitMs = 60_000;

/** Hosted MCP servers as callers see them. */
export class McpServers implements McpOperations {
  readonly #options: McpServersOptions;
  readonly #access: McpAccess;

  constructor(options: McpServersOptions) {
    this.#options = options;
    this.#access = new McpAccess(options.store, options.mcp);
  }

  async register(
    caller: Caller,
    request: RegisterMcpServer,
    signal: AbortSignal,
  ): Promise<McpServer> {
    const { registration, lifecycle, host } = this.#options;
    requireAdmin(caller);
    const workspace = await registration.make(caller, request, signal);
    try {
      await this.#settled(workspace, signal);
      const problem = host.supervisor(workspace.id)?.startProblem;
      if (problem) throw problem;
    } catch (error) {
      // Nobody has been told of it.
      await lifecycle.destruction.destroy(workspace, caller.tokenId);
      await host.forget(workspace.id);
      throw error;
    }
    return this.get(caller, workspace.id);
  }

  async get(caller: Caller, id: string): Promise<McpServer> {
    return this.#view(await this.#access.toUse(caller, id));
  }

  async list(caller: Caller): Promise<readonly McpServer[]> {
    const { mcp, host, clock } = this.#options;
    const rows = (await mcp.servers()).filter((workspace) => mayUse(caller, workspace));
    const states = await mcp.states(rows.map(({ id }) => id));
    return rows.map((row) => viewOf(row, host.supervisor(row.id), states.get(row.id), clock));
  }

  async stop(caller: Caller, id: string): Promise<McpServer> {
    const { host, lifecycle } = this.#options;
    const workspace = await this.#access.toChange(caller, id);
    await this.#requireHost(workspace);
    const stopped = await lifecycle.suspension.stop(workspace, caller.tokenId);
    host.supervisor(workspace.id)?.wake();
    return this.#view(stopped);
  }

  async start(caller: Caller, id: string, signal: AbortSignal): Promise<McpServer> {
    const { lifecycle } = this.#options;
    const workspace = await this.#access.toChange(caller, id);
    const supervisor = await this.#requireHost(workspace);
    const { status } = workspace;
    if (status === 'stopped') await lifecycle.suspension.resume(workspace, caller.tokenId);
    if (status === 'error') await lifecycle.suspension.recover(workspace, caller.tokenId);
    supervisor.begin();
    await this.#settled(workspace, signal);
    return this.get(caller, workspace.id);
  }

  async restart(caller: Caller, id: string, signal: AbortSignal): Promise<McpServer> {
    const workspace = await this.#access.toChange(caller, id);
    if (workspace.status !== 'ready') return this.start(caller, workspace.id, signal);
    const supervisor = await this.#requireHost(workspace);
    supervisor.restart();
    await this.#settled(workspace, signal);
    return this.get(caller, workspace.id);
  }

  async delete(
    caller: Caller,
    id: string,
    { keepVolumes }: { readonly keepVolumes: boolean },
  ): Promise<KeptVolumes | undefined> {
    const { lifecycle, host, mcp } = this.#options;
    const workspace = await this.#access.toChange(caller, id);
    const keep = keepVolumes && mcpConfigOf(workspace).volumes.length > 0;
    await lifecycle.destruction.destroy(workspace, caller.tokenId, { keepVolumes: keep });
    await host.forget(workspace.id);
    if (!keep) return undefined;
    return (await mcp.kept(workspace.owner)).find((kept) => kept.id === workspace.id);
  }

  async target(caller: Caller, id: string, signal: AbortSignal): Promise<McpTarget> {
    // What runs here is known without the database, which a call would mostly be waiting for.
    const known = this.#options.host.find(id, caller.tokenId);
    const ready = known && mayUseServer(caller, known) ? known.target() : undefined;
    if (ready) return ready;
    const workspace = await this.#access.toUse(caller, id);
    const supervisor = await this.#requireHost(workspace);
    const running = supervisor.target();
    if (running) return running;
    await this.#settled(workspace, signal, longestCallerWaitMs);
    return supervisor.target() ?? throwUnavailable(workspace, supervisor);
  }

  noteCall(caller: Caller, server: string, call: McpCallNote): void {
    const { notes, host } = this.#options;
    const supervisor = host.supervisor(server);
    if (supervisor) notes.note(caller, supervisor, call);
  }

  async call(
    caller: Caller,
    id: string,
    request: JsonRpcRequest,
    options: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<JsonRpcOutcome> {
    const { clock } = this.#options;
    const target = await this.target(caller, id, options.signal);
    const startedAt = clock.monotonic();
    const note = (result: string): void => {
      if (request.method !== 'tools/call') return;
      const name = request.params?.['name'];
      const tool = typeof name === 'string' ? name : '';
      this.noteCall(caller, target.id, { tool, result, durationMs: clock.monotonic() - startedAt });
    };
    try {
      const outcome = await callOnce(target, request, options);
      note('result' in outcome && outcome.result['isError'] !== true ? 'ok' : 'error');
      return outcome;
    } catch (error) {
      note(error instanceof EmergentError ? error.code : 'internal');
      throw error;
    }
  }

  async logs(caller: Caller, id: string, limit: number): Promise<readonly McpLogLine[]> {
    const supervisor = await this.#requireHost(await this.#access.toChange(caller, id));
    return supervisor.logs.tail(limit);
  }

  async *followLogs(
    caller: Caller,
    id: string,
    limit: number,
    signal: AbortSignal,
  ): AsyncGenerator<McpLogLine> {
    const supervisor = await this.#requireHost(await this.#access.toChange(caller, id));
    yield* supervisor.logs.follow(limit, signal);
  }

  keptVolumes(caller: Caller): Promise<readonly KeptVolumes[]> {
    return this.#options.mcp.kept(caller.role === 'admin' ? undefined : caller.tokenId);
  }

  async removeKeptVolumes(caller: Caller, id: string): Promise<void> {
    const { mcp, lifecycle } = this.#options;
    const kept = (await this.keptVolumes(caller)).find((each) => each.id === id);
    if (!kept) throw new EmergentError('volumes_not_found', `no volumes are kept as ${id}`);
    const ref = { workspaceId: kept.id, sandboxName: kept.sandboxName };
    // First, so that no server of this name is brought up on them meanwhile; what is left then is nobody's.
    if (await mcp.forgetKept(id)) await lifecycle.destruction.removeRef(kept.provider, ref);
  }

  async #view(workspace: Workspace): Promise<McpServer> {
    const { host, mcp, clock } = this.#options;
    const supervisor = host.supervisor(workspace.id);
    const known = supervisor ? undefined : (await mcp.states([workspace.id])).get(workspace.id);
    return viewOf(workspace, supervisor, known, clock);
  }

  async #requireHost(workspace: Workspace): Promise<Supervisor> {
    const supervisor = await this.#options.host.supervisorOf(workspace);
    if (supervisor) return supervisor;
    throw new EmergentError(
      'hosted_elsewhere',
      `another server on the same database runs the MCP server "${mcpConfigOf(workspace).name}"`,
    );
  }

  /** When it runs and is heard, or will not be for now; within what it has for that. */
  async #settled(
    workspace: Workspace,
    signal: AbortSignal,
    longestMs = Number.POSITIVE_INFINITY,
  ): Promise<void> {
    const supervisor = await this.#requireHost(workspace);
    const { initializeTimeoutMs } = mcpConfigOf(workspace);
    const ms = Math.min(initializeTimeoutMs + sandboxSlackMs, longestMs);
    await supervisor.board.settled(ms, signal);
  }
}

function throwUnavailable(workspace: Workspace, { board }: Supervisor): never {
  const { state, reason, nextStartAt } = board.told;
  const why = reason === null ? '' : `: ${reason}`;
  const when = nextStartAt ? `; it is started again at ${nextStartAt.toISOString()}` : '';
  throw new EmergentError(
    'mcp_unavailable',
    `the MCP server "${mcpConfigOf(workspace).name}" is ${state}${why}${when}`,
    { details: { state, next_start_at: nextStartAt?.toISOString() ?? null } },
  );
}
