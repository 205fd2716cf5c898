import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type * as api from './api-types.ts';
import { bashEvents } from './bash-events.ts';
import { EventClient } from './event-client.ts';
import { McpClient } from './mcp-client.ts';
import { ProcessClient } from './process-client.ts';
import { connection } from './settings.ts';
import { TerminalClient } from './terminal-client.ts';
import { Transport } from './transport.ts';

/** Creating may try several providers and pull an image, each with a deadline of its own on the server. */
const createMs = 40 * 60_000;
const destroyMs = 120_000;
const stopMs = 120_000;
/** Destroying one may take its processes' whole time to end, and there may be many. */
const gcMs = 900_000;
const startMs = 90_000;
const fileMs = 90_000;

export interface ListQuery {
  readonly status?: string;
  readonly provider?: string;
  readonly limit?: string;
  readonly cursor?: string;
}

/** The public API, as far as the command uses it. */
export class ApiClient {
  readonly #transport: Transport;
  readonly processes: ProcessClient;
  readonly terminals: TerminalClient;
  readonly events: EventClient;
  readonly mcp: McpClient;

  constructor(transport: Transport) {
    this.#transport = transport;
    this.processes = new ProcessClient(transport);
    this.terminals = new TerminalClient(transport);
    this.events = new EventClient(transport);
    this.mcp = new McpClient(transport);
  }

  /** From the environment and the command's options. */
  static connect(options: { readonly url?: string | undefined }): ApiClient {
    return new ApiClient(new Transport(connection(process.env, options.url)));
  }

  get origin(): string {
    return this.#transport.origin;
  }

  async createWorkspace(body: api.NewWorkspace, signal?: AbortSignal): Promise<api.Workspace> {
    return (await this.#transport.json({
      method: 'POST',
      path: '/agent/workspaces',
      json: body,
      answerMs: createMs,
      ...(signal && { signal }),
    })) as api.Workspace;
  }

  /** The same, answered at once: it is still being created then. */
  async beginWorkspace(body: api.NewWorkspace): Promise<api.Workspace> {
    return (await this.#transport.json({
      method: 'POST',
      path: '/agent/workspaces',
      query: { wait: 'false' },
      json: body,
    })) as api.Workspace;
  }

  async listWorkspaces(query: ListQuery): Promise<api.WorkspacePage> {
    return (await this.#transport.json({
      method: 'GET',
      path: '/agent/workspaces',
      query: { ...query },
    })) as api.WorkspacePage;
  }

  async getWorkspace(id: string): Promise<api.Workspace> {
    return (await this.#transport.json({ method: 'GET', path: workspace(id) })) as api.Workspace;
  }

  /** What all workspaces use. */
  async stats(signal?: AbortSignal): Promise<api.WorkspaceStatsList> {
    return (await this.#transport.json({
      method: 'GET',
      path: '/agent/workspaces/stats',
      ...(signal && { signal }),
    })) as api.WorkspaceStatsList;
  }

  stopWorkspace(id: string): Promise<api.Workspace> {
    return this.#change(id, 'stop', stopMs);
  }

  resumeWorkspace(id: string): Promise<api.Workspace> {
    return this.#change(id, 'resume', createMs);
  }

  recoverWorkspace(id: string): Promise<api.Workspace> {
    return this.#change(id, 'recover', createMs);
  }

  async destroyWorkspace(id: string, signal?: AbortSignal): Promise<void> {
    await this.#transport.json({
      method: 'DELETE',
      path: workspace(id),
      answerMs: destroyMs,
      ...(signal && { signal }),
    });
  }

  async providers(): Promise<readonly api.ProviderStatus[]> {
    const body = await this.#transport.json({ method: 'GET', path: '/agent/workspaces/providers' });
    return (body as { providers: readonly api.ProviderStatus[] }).providers;
  }

  /** Which providers a create would try now, and why. */
  async explainSelection(query: api.SelectionQuery): Promise<api.Selection> {
    const path = '/agent/workspaces/providers/selection';
    const call = { method: 'GET', path, query: { ...query } } as const;
    return (await this.#transport.json(call)) as api.Selection;
  }

  async warmPools(signal?: AbortSignal): Promise<api.WarmPoolReport> {
    return (await this.#transport.json({
      method: 'GET',
      path: '/agent/workspaces/pool',
      ...(signal && { signal }),
    })) as api.WarmPoolReport;
  }

  /** Without a name, the pool for plain requests. */
  async resizeWarmPool(name: string | undefined, size: number): Promise<api.WarmPoolReport> {
    const json = { ...(name !== undefined && { name }), size };
    const call = { method: 'PATCH', path: '/agent/workspaces/pool', json } as const;
    return (await this.#transport.json(call)) as api.WarmPoolReport;
  }

  /** Runs a command; the last event is its result. Abort, or stop reading, and the server ends it. */
  async *bash(
    id: string,
    request: api.BashRequest,
    signal: AbortSignal,
  ): AsyncGenerator<api.BashEvent> {
    const answer = await this.#transport.open({
      method: 'POST',
      path: `${workspace(id)}/bash`,
      json: request,
      accept: 'text/event-stream',
      answerMs: startMs,
      signal,
    });
    yield* bashEvents(answer, this.origin, signal);
  }

  readFile(id: string, path: string, signal: AbortSignal): Promise<IncomingMessage> {
    return this.#transport.open({
      method: 'GET',
      path: `${workspace(id)}/files`,
      query: { path },
      accept: 'application/octet-stream',
      answerMs: fileMs,
      signal,
    });
  }

  async writeFile(
    id: string,
    path: string,
    bytes: { readonly content: Readable; readonly size: number | undefined },
    signal: AbortSignal,
  ): Promise<api.FileInfo> {
    return (await this.#transport.json({
      method: 'PUT',
      path: `${workspace(id)}/files`,
      query: { path },
      bytes,
      answerMs: fileMs,
      signal,
    })) as api.FileInfo;
  }

  async collectGarbage(json: api.ReconcileRequest): Promise<api.ReconcileReport> {
    const call = { method: 'POST', path: '/gc', json, answerMs: gcMs } as const;
    return (await this.#transport.json(call)) as api.ReconcileReport;
  }

  async createToken(name: string, role: string): Promise<api.NewToken> {
    const json = { name, role };
    return (await this.#transport.json({ method: 'POST', path: '/tokens', json })) as api.NewToken;
  }

  /** The API answers with `{items}`. */
  async listTokens(): Promise<readonly api.Token[]> {
    const body = await this.#transport.json({ method: 'GET', path: '/tokens' });
    return (body as { items: readonly api.Token[] }).items;
  }

  async revokeToken(id: string): Promise<void> {
    await this.#transport.json({ method: 'DELETE', path: `/tokens/${encodeURIComponent(id)}` });
  }

  async #change(id: string, change: string, answerMs: number): Promise<api.Workspace> {
    return (await this.#transport.json({
      method: 'POST',
      path: `${workspace(id)}/${change}`,
      json: {},
      answerMs,
    })) as api.Workspace;
  }
}

function workspace(id: string): string {
  return `/agent/workspaces/${encodeURIComponent(id)}`;
}
