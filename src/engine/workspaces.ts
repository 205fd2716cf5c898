import { randomUUID } from 'node:crypto';
import { maySee } from '../domain/caller.ts';
import type { Caller } from '../domain/caller.ts';
import type { CreateWorkspaceRequest } from '../domain/create-request.ts';
import type { ProviderStatus } from '../domain/provider-status.ts';
import type { WorkspacePage, WorkspaceQuery } from '../domain/store.ts';
import type { Workspace } from '../domain/workspace.ts';
import type { WorkspaceOperations } from './engine.ts';
import { behind, candidatesFor } from './lifecycle/candidates.ts';
import type { Candidates } from './lifecycle/candidates.ts';
import type { LifecycleContext } from './lifecycle/context.ts';
import { Creation, UncleanAttempt } from './lifecycle/creation.ts';
import { Destruction } from './lifecycle/destruction.ts';
import { notFound } from './lifecycle/refusals.ts';
import { Suspension } from './lifecycle/suspension.ts';
import { UpkeepChanges } from './lifecycle/upkeep-changes.ts';
import { newRow } from './new-workspace.ts';
import type { WorkspaceDefaults } from './new-workspace.ts';
import type { Upkeep } from './upkeep.ts';

export interface WorkspacesOptions extends LifecycleContext {
  readonly defaults: WorkspaceDefaults;
  readonly allowUnsandboxed: boolean;
}

/**
 * The life of workspaces, as callers see it. Intent before effect: the row stands, with the sandbox's name in
 * it, before anything is created, and goes only after everything is gone. Status changes are compare-and-set,
 * so several servers may share the database.
 */
export class Workspaces implements WorkspaceOperations {
  readonly upkeep: Upkeep;
  readonly #options: WorkspacesOptions;
  readonly #creation: Creation;
  readonly #suspension: Suspension;
  readonly #destruction: Destruction;

  constructor(options: WorkspacesOptions) {
    this.#options = options;
    this.#destruction = new Destruction(options);
    this.#creation = new Creation(options, this.#destruction);
    this.#suspension = new Suspension(options);
    this.upkeep = new UpkeepChanges(options, this.#creation, this.#suspension, this.#destruction);
  }

  async create(
    caller: Caller,
    request: CreateWorkspaceRequest,
    signal: AbortSignal,
  ): Promise<Workspace> {
    const { providers, allowUnsandboxed } = this.#options;
    const rules = { allowUnsandboxed, containerType: 'agent_workspace' } as const;
    const candidates = await candidatesFor(request.provider, providers, rules);
    if (request.wait) return this.#createAndWait(caller, request, candidates, signal);
    const workspace = await this.#admit(caller, request, candidates);
    // Nobody waits: the caller's leaving changes nothing, and how it ended is in the row.
    const unheard = new AbortController().signal;
    this.#creation.run(workspace, candidates, caller.tokenId, unheard).catch((error: unknown) => {
      const { log } = this.#options;
      log.warn('a create in the background failed', { workspace: workspace.id, err: error });
    });
    return workspace;
  }

  async get(caller: Caller, id: string): Promise<Workspace> {
    const workspace = await this.#options.store.get(id);
    if (!workspace || !maySee(caller, workspace)) throw notFound(id);
    return workspace;
  }

  list(caller: Caller, query: Omit<WorkspaceQuery, 'owner'>): Promise<WorkspacePage> {
    return this.#options.store.list(
      caller.role === 'admin' ? query : { ...query, owner: caller.tokenId },
    );
  }

  async stop(caller: Caller, id: string): Promise<Workspace> {
    return this.#suspension.stop(await this.get(caller, id), caller.tokenId);
  }

  async resume(caller: Caller, id: string): Promise<Workspace> {
    return this.#suspension.resume(await this.get(caller, id), caller.tokenId);
  }

  async recover(caller: Caller, id: string): Promise<Workspace> {
    return this.#suspension.recover(await this.get(caller, id), caller.tokenId);
  }

  async destroy(caller: Caller, id: string): Promise<void> {
    await this.#destruction.destroy(await this.get(caller, id), caller.tokenId);
  }

  /** A provider that cannot even clean up keeps its row; the next one gets another. */
  async #createAndWait(
    caller: Caller,
    request: CreateWorkspaceRequest,
    candidates: Candidates,
    signal: AbortSignal,
  ): Promise<Workspace> {
    for (let left = candidates; ;) {
      const workspace = await this.#admit(caller, request, left);
      try {
        return await this.#creation.run(workspace, left, caller.tokenId, signal);
      } catch (error) {
        if (!(error instanceof UncleanAttempt)) throw error;
        const rest = behind(left, { name: error.provider, reason: error.message });
        if (!rest || signal.aborted) throw error.why;
        left = rest;
      }
    }
  }

  #admit(
    caller: Caller,
    request: CreateWorkspaceRequest,
    { order }: Candidates,
  ): Promise<Workspace> {
    const { defaults, specs, clock } = this.#options;
    const row = newRow(randomUUID(), caller, request, defaults, clock.now());
    const sealedEnv = specs.sealEnv(request.env, request.repository?.credentials);
    return this.#creation.admit({ ...row, provider: order[0], sealedEnv });
  }

  async providerStatuses(): Promise<readonly ProviderStatus[]> {
    return this.#options.providers.statuses(await this.#options.store.countByProvider());
  }
}
