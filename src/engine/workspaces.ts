import { randomUUID } from 'node:crypto';
import { maySee } from '../domain/caller.ts';
import type { Caller } from '../domain/caller.ts';
import type { CreateWorkspaceRequest } from '../domain/create-request.ts';
import type { ProviderStatus } from '../domain/provider-status.ts';
import type { SelectionExplained, SelectionRequest } from '../domain/selection.ts';
import type { NewWorkspace, WorkspacePage, WorkspaceQuery } from '../domain/store.ts';
import type { Workspace } from '../domain/workspace.ts';
import type { AttemptCount, WorkspaceOperations } from './engine.ts';
import type { Adoption } from './lifecycle/adoption.ts';
import { behind, candidatesFor, rulesFor } from './lifecycle/candidates.ts';
import type { Candidates } from './lifecycle/candidates.ts';
import type { LifecycleContext } from './lifecycle/context.ts';
import type { Lifecycle } from './lifecycle/lifecycle.ts';
import { limitReached, notFound } from './lifecycle/refusals.ts';
import { UncleanAttempt } from './lifecycle/unclean-attempt.ts';
import { newRow } from './new-workspace.ts';
import type { WorkspaceDefaults } from './new-workspace.ts';
import type { Claims } from './pool/claims.ts';
import { explainSelection } from './providers/explain.ts';

export interface WorkspacesOptions extends LifecycleContext {
  readonly lifecycle: Lifecycle;
  /** Sandboxes that wait; without it each is made when it is asked for. */
  readonly claims?: Pick<Claims, 'claim'> & Adoption;
  readonly defaults: WorkspaceDefaults;
  readonly allowUnsandboxed: boolean;
}

/**
 * The life of workspaces, as callers see it. Intent before effect: the row stands, with the sandbox's name in
 * it, before anything is created, and goes only after everything is gone. Status changes are compare-and-set,
 * so several servers may share the database.
 */
export class Workspaces implements WorkspaceOperations {
  readonly #options: WorkspacesOptions;

  constructor(options: WorkspacesOptions) {
    this.#options = options;
  }

  async create(
    caller: Caller,
    request: CreateWorkspaceRequest,
    signal: AbortSignal,
  ): Promise<Workspace> {
    const { providers, lifecycle, log } = this.#options;
    const rules = rulesFor(request, this.#options);
    const candidates = await candidatesFor(request.provider, providers, rules);
    if (request.wait) return this.#createAndWait(caller, request, candidates, signal);
    const { workspace, adoption } = await this.#begin(caller, request, candidates);
    // Nobody waits: the caller's leaving changes nothing, and how it ended is in the row.
    const unheard = new AbortController().signal;
    lifecycle.creation
      .run(workspace, candidates, caller.tokenId, unheard, adoption)
      .catch((error: unknown) => {
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
    return this.#options.lifecycle.suspension.stop(await this.get(caller, id), caller.tokenId);
  }

  async resume(caller: Caller, id: string): Promise<Workspace> {
    return this.#options.lifecycle.suspension.resume(await this.get(caller, id), caller.tokenId);
  }

  async recover(caller: Caller, id: string): Promise<Workspace> {
    return this.#options.lifecycle.suspension.recover(await this.get(caller, id), caller.tokenId);
  }

  async destroy(caller: Caller, id: string): Promise<void> {
    await this.#options.lifecycle.destruction.destroy(await this.get(caller, id), caller.tokenId);
  }

  /** A provider that cannot even clean up keeps its row; the next one gets another. */
  async #createAndWait(
    caller: Caller,
    request: CreateWorkspaceRequest,
    candidates: Candidates,
    signal: AbortSignal,
  ): Promise<Workspace> {
    const { creation } = this.#options.lifecycle;
    let { workspace, adoption } = await this.#begin(caller, request, candidates);
    for (let left = candidates; ;) {
      try {
        return await creation.run(workspace, left, caller.tokenId, signal, adoption);
      } catch (error) {
        if (!(error instanceof UncleanAttempt)) throw error;
        if (error.kind === 'final') throw error.why;
        left = behind(left, error.failures);
        workspace = await creation.admit(this.#newRow(caller, request, left));
        adoption = undefined;
      }
    }
  }

  /** A row in status `creating`: of a sandbox that was waiting for it, or a new one. */
  async #begin(
    caller: Caller,
    request: CreateWorkspaceRequest,
    candidates: Candidates,
  ): Promise<{ workspace: Workspace; adoption: Adoption | undefined }> {
    const { claims, maxConcurrent, lifecycle } = this.#options;
    const row = this.#newRow(caller, request, candidates);
    const claimed = await claims?.claim(row);
    if (claimed && 'running' in claimed) throw limitReached(maxConcurrent, claimed.running);
    if (claimed) return { workspace: claimed, adoption: claims };
    return { workspace: await lifecycle.creation.admit(row), adoption: undefined };
  }

  #newRow(caller: Caller, request: CreateWorkspaceRequest, { order }: Candidates): NewWorkspace {
    const { defaults, specs, clock } = this.#options;
    const row = newRow(randomUUID(), caller, request, defaults, clock.now());
    const sealedEnv = specs.sealEnv(request.env, request.repository?.credentials);
    return { ...row, provider: order[0], sealedEnv };
  }

  async providerStatuses(): Promise<readonly ProviderStatus[]> {
    return this.#options.providers.statuses(await this.#options.store.countByProvider());
  }

  createAttempts(): readonly AttemptCount[] {
    return this.#options.lifecycle.creation.counts.all();
  }

  explainSelection(request: SelectionRequest): Promise<SelectionExplained> {
    return explainSelection(this.#options.providers, request, this.#options);
  }
}
