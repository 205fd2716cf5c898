import { randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { withDeadline } from '../base/deadline.ts';
import type { Log } from '../base/log.ts';
import { maySee } from '../domain/caller.ts';
import type { Caller } from '../domain/caller.ts';
import type { CreateWorkspaceRequest } from '../domain/create-request.ts';
import { reasonOf } from '../base/reason.ts';
import { EmergentError } from '../domain/errors.ts';
import type { SandboxRef, WorkspaceProvider } from '../domain/provider.ts';
import type { ProviderStatus } from '../domain/provider-status.ts';
import type { WorkspacePage, WorkspaceQuery, WorkspaceStore } from '../domain/store.ts';
import { workspaceStatuses } from '../domain/workspace.ts';
import type { Workspace } from '../domain/workspace.ts';
import { newRow, sandboxSpec } from './new-workspace.ts';
import type { WorkspaceDefaults } from './new-workspace.ts';
import type { Providers } from './providers.ts';

const createDeadlineMs = 60_000;
const destroyDeadlineMs = 30_000;
const abandonDeadlineMs = 30_000;

export interface WorkspacesOptions {
  readonly store: WorkspaceStore;
  readonly providers: Providers;
  readonly defaults: WorkspaceDefaults;
  readonly allowUnsandboxed: boolean;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * The life of workspaces. Intent before effect: the row stands, with the sandbox's name in it, before
 * anything is created, and goes only after everything is gone. Status changes are compare-and-set, so
 * several servers may share the database.
 */
export class Workspaces {
  readonly #options: WorkspacesOptions;
  readonly #destroying = new Map<string, { workspace: Workspace; done: Promise<void> }>();

  constructor(options: WorkspacesOptions) {
    this.#options = options;
  }

  async create(
    caller: Caller,
    request: CreateWorkspaceRequest,
    signal: AbortSignal,
  ): Promise<Workspace> {
    if (request.provider !== 'auto') {
      const provider = await this.#options.providers.requireHealthy(request.provider);
      return this.#createOn(provider, caller, request, signal);
    }
    const { order, leftOut } = await this.#options.providers.select(this.#options);
    const failures = leftOut.map(({ name, reason }) => ({ name, reason }));
    for (const name of order) {
      try {
        const provider = this.#options.providers.get(name);
        return await this.#createOn(provider, caller, request, signal);
      } catch (error) {
        if (signal.aborted || isCallersFault(error)) throw error;
        this.#options.log.warn('create failed', { provider: name, err: error });
        failures.push({ name, reason: reasonOf(error) });
      }
    }
    throw new EmergentError(
      'provider_unavailable',
      `no provider can create a workspace: ${failures.map((f) => `${f.name}: ${f.reason}`).join('; ')}`,
      { details: { providers: failures } },
    );
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

  /** Legal in every state. A second call while the first runs waits for it and answers the same. */
  async destroy(caller: Caller, id: string): Promise<void> {
    const workspace = this.#destroying.get(id)?.workspace ?? (await this.#options.store.get(id));
    if (!workspace || !maySee(caller, workspace)) throw notFound(id);
    const running = this.#destroying.get(id) ?? this.#startDestroying(workspace);
    await running.done;
  }

  /** The provider and the name of a workspace that can be used now. */
  async ready(
    caller: Caller,
    id: string,
  ): Promise<{ provider: WorkspaceProvider; ref: SandboxRef }> {
    const workspace = await this.get(caller, id);
    if (workspace.status !== 'ready') {
      const why = workspace.statusReason === null ? '' : `: ${workspace.statusReason}`;
      throw new EmergentError('wrong_state', `workspace ${id} is ${workspace.status}${why}`, {
        details: { status: workspace.status },
      });
    }
    return { provider: this.#options.providers.get(workspace.provider), ref: refOf(workspace) };
  }

  async providerStatuses(): Promise<readonly ProviderStatus[]> {
    return this.#options.providers.statuses(await this.#options.store.countByProvider());
  }

  async #createOn(
    provider: WorkspaceProvider,
    caller: Caller,
    request: CreateWorkspaceRequest,
    signal: AbortSignal,
  ): Promise<Workspace> {
    const { store, clock, log } = this.#options;
    const startedAt = clock.monotonic();
    const id = randomUUID();
    const row = newRow(id, caller, request, provider.name, this.#options.defaults, clock.now());
    const workspace = await store.insert(row);
    let creating: Promise<unknown> = Promise.resolve();
    try {
      const created = await withDeadline(
        `creating a workspace on ${provider.name}`,
        createDeadlineMs,
        (inner) => {
          const started = provider.create(sandboxSpec(workspace, request.env), inner);
          creating = started;
          return started;
        },
        signal,
      );
      const ready = await store.transition(id, ['creating'], 'ready', {
        resourceLimits: created.limits,
        metadata: { ...workspace.metadata, ...created.metadata },
      });
      if (!ready) throw new EmergentError('wrong_state', `workspace ${id} was destroyed meanwhile`);
      const ms = Math.round(clock.monotonic() - startedAt);
      log.info('workspace created', { workspace: id, provider: provider.name, ms });
      return ready;
    } catch (error) {
      await this.#undoCreate(workspace, creating, error);
      throw error;
    }
  }

  /**
   * Nothing of a failed attempt stays: if it cannot be removed now, the row says so and can be destroyed. The
   * sandbox is removed also when the row is gone: somebody may have destroyed it before it had come up.
   */
  async #undoCreate(workspace: Workspace, creating: Promise<unknown>, why: unknown): Promise<void> {
    const { log, store } = this.#options;
    const { id } = workspace;
    try {
      // What a provider still makes after its signal must be there before it can be removed.
      await withDeadline('the end of the abandoned create', abandonDeadlineMs, () =>
        creating.catch(() => undefined),
      );
      await store.transition(id, workspaceStatuses, 'destroying');
      await this.#remove(workspace);
    } catch (error) {
      log.error('clean-up after a failed create failed', { workspace: id, err: error });
      const statusReason = `${reasonOf(why)}; clean-up failed: ${reasonOf(error)}`;
      await store
        .transition(id, ['creating', 'destroying'], 'error', { statusReason })
        .catch((failure: unknown) => {
          log.error('a failed create could not be recorded', { workspace: id, err: failure });
        });
    }
  }

  #startDestroying(workspace: Workspace): { done: Promise<void> } {
    const done = this.#destroyOnce(workspace).finally(() => this.#destroying.delete(workspace.id));
    const running = { workspace, done };
    this.#destroying.set(workspace.id, running);
    return running;
  }

  async #destroyOnce(workspace: Workspace): Promise<void> {
    const claimed = await this.#options.store.transition(
      workspace.id,
      workspaceStatuses,
      'destroying',
    );
    if (claimed) await this.#remove(claimed);
  }

  /** The sandbox, then the row. */
  async #remove(workspace: Workspace): Promise<void> {
    const { store, providers, log } = this.#options;
    const provider = providers.get(workspace.provider);
    await withDeadline(`destroying a workspace on ${provider.name}`, destroyDeadlineMs, (signal) =>
      provider.destroy(refOf(workspace), signal),
    );
    await store.remove(workspace.id, ['destroying']);
    log.info('workspace destroyed', { workspace: workspace.id, provider: provider.name });
  }
}

function refOf(workspace: Workspace): SandboxRef {
  return { workspaceId: workspace.id, sandboxName: workspace.providerWorkspaceId };
}

function notFound(id: string): EmergentError {
  return new EmergentError('workspace_not_found', `there is no workspace ${id}`);
}

/** Another provider would refuse it just the same. */
function isCallersFault(error: unknown): boolean {
  return (
    error instanceof EmergentError && ['invalid_value', 'image_not_found'].includes(error.code)
  );
}
