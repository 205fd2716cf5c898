import { withDeadline } from '../../base/deadline.ts';
import { reasonOf } from '../../base/reason.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import type { Actor } from '../../domain/events.ts';
import type { CreatedSandbox } from '../../domain/provider.ts';
import type { NewWorkspace } from '../../domain/store.ts';
import type { Workspace } from '../../domain/workspace.ts';
import { begin } from './begin.ts';
import { noneCan } from './candidates.ts';
import type { Candidates, Failure } from './candidates.ts';
import { cloneRepository } from './clone.ts';
import type { LifecycleContext } from './context.ts';
import type { Destruction } from './destruction.ts';
import { noteReducedIsolation } from './isolation-warning.ts';
import { recordEnd } from './record-end.ts';
import { limitReached } from './refusals.ts';
import { startSandbox } from './start-progress.ts';

const abandonDeadlineMs = 30_000;

/**
 * Makes workspaces. Intent before effect: the row stands, with the sandbox's name in it, before anything is
 * created. One row is one create, also when several providers are tried; nothing of a failed one stays.
 */
export class Creation {
  readonly #context: LifecycleContext;
  readonly #destruction: Destruction;

  constructor(context: LifecycleContext, destruction: Destruction) {
    this.#context = context;
    this.#destruction = destruction;
  }

  /** The row, admitted under the limit and in status `creating`. */
  async admit(row: NewWorkspace): Promise<Workspace> {
    const { store, maxConcurrent } = this.#context;
    const admitted = await begin(this.#context, row.id, () => store.admit(row, maxConcurrent));
    if ('running' in admitted) throw limitReached(maxConcurrent, admitted.running);
    return admitted;
  }

  /**
   * From an admitted row to a ready workspace; a destroy or `signal` calls it off. An attempt that could not be
   * cleaned up ends the row's use: UncleanAttempt.
   */
  run(
    workspace: Workspace,
    candidates: Candidates,
    by: Actor,
    signal: AbortSignal,
  ): Promise<Workspace> {
    const { changes } = this.#context;
    return changes.run(workspace.id, 'creating', (calledOff) =>
      this.#tryAll(workspace, candidates, by, AbortSignal.any([signal, calledOff])),
    );
  }

  async #tryAll(
    workspace: Workspace,
    { order, leftOut, explicit }: Candidates,
    by: Actor,
    signal: AbortSignal,
  ): Promise<Workspace> {
    const failures: Failure[] = [];
    let current = workspace;
    for (const name of order) {
      try {
        current = await this.#moveTo(current, name, failures, by);
        return await this.#make(current, { leftOut, failures }, by, signal);
      } catch (error) {
        if (error instanceof UncleanAttempt) throw error;
        const last = signal.aborted || explicit || isCallersFault(error);
        if (last) throw await this.#giveUp(current, error, by);
        this.#context.log.warn('create failed', { provider: name, err: error });
        failures.push({ name, reason: reasonOf(error) });
      }
    }
    throw await this.#giveUp(current, noneCan([...leftOut, ...failures]), by);
  }

  async #moveTo(
    workspace: Workspace,
    provider: string,
    failures: readonly Failure[],
    by: Actor,
  ): Promise<Workspace> {
    if (workspace.provider === provider) return workspace;
    const moved = await this.#context.store.transition(workspace.id, {
      from: ['creating'],
      to: 'creating',
      own: true,
      changes: { provider },
      by,
      detail: { provider, failed: failures },
    });
    return moved ?? throwDestroyed(workspace.id);
  }

  async #make(
    workspace: Workspace,
    { leftOut, failures }: { readonly leftOut: readonly Failure[]; readonly failures: Failure[] },
    by: Actor,
    signal: AbortSignal,
  ): Promise<Workspace> {
    const { clock, log } = this.#context;
    const startedAt = clock.monotonic();
    const warned = await noteReducedIsolation(this.#context, workspace, [...leftOut, ...failures]);
    const created = await this.#createSandbox(workspace, by, signal);
    const cloned = await this.#clone(workspace, by, signal);
    const metadata = { ...created.metadata, ...cloned, ...warned };
    const ready = await this.#settle(workspace, { ...created, metadata }, failures, by);
    const ms = Math.round(clock.monotonic() - startedAt);
    log.info('workspace created', { workspace: workspace.id, provider: workspace.provider, ms });
    return ready;
  }

  /** Nothing of the sandbox is left when this fails; if that cannot be told, it is an UncleanAttempt. */
  async #createSandbox(
    workspace: Workspace,
    by: Actor,
    signal: AbortSignal,
  ): Promise<CreatedSandbox> {
    const { providers, specs } = this.#context;
    const provider = providers.get(workspace.provider);
    const spec = specs.of(workspace);
    let creating: Promise<unknown> = Promise.resolve();
    try {
      const what = `creating a workspace on ${provider.name}`;
      const start = { workspace, by, what };
      return await startSandbox(this.#context, start, signal, (inner, onProgress) => {
        const started = provider.create(spec, inner, onProgress);
        creating = started;
        return started;
      });
    } catch (error) {
      try {
        // What a provider still makes after its signal must be there before it can be removed.
        await withDeadline('the end of the abandoned create', abandonDeadlineMs, () =>
          creating.catch(() => undefined),
        );
        await this.#destruction.removeSandbox(workspace);
      } catch (failure) {
        throw await this.#leaveUnclean(workspace, error, failure);
      }
      throw error;
    }
  }

  /** The same holds for this. */
  async #clone(
    workspace: Workspace,
    by: Actor,
    signal: AbortSignal,
  ): Promise<CreatedSandbox['metadata']> {
    try {
      return await cloneRepository(this.#context, workspace, by, signal);
    } catch (error) {
      await this.#destruction.removeSandbox(workspace).catch(async (failure: unknown) => {
        throw await this.#leaveUnclean(workspace, error, failure);
      });
      throw error;
    }
  }

  async #settle(
    workspace: Workspace,
    created: CreatedSandbox,
    failures: readonly Failure[],
    by: Actor,
  ): Promise<Workspace> {
    const { store, specs, clock } = this.#context;
    const ready = await store
      .transition(workspace.id, {
        from: ['creating'],
        to: 'ready',
        own: true,
        changes: {
          readyAt: clock.now(),
          ...specs.withoutCredentials(workspace),
          resourceLimits: created.limits,
          metadata: {
            ...workspace.metadata,
            ...created.metadata,
            ...(failures.length > 0 && { attempts: failures }),
          },
        },
        by,
        detail: { provider: workspace.provider },
      })
      .catch(async (error: unknown) => {
        // The row may say `ready` or `creating` now. Both fit a sandbox that is there, so it stays.
        await this.#context.releases.release(workspace.id);
        throw new UncleanAttempt(workspace.provider, error);
      });
    if (ready) return ready;
    // Another server has the row. One that destroys it may not have seen this sandbox; one that went on with
    // the creation, because it took this server for dead, is using it.
    const row = await store.get(workspace.id);
    if (!row || row.status === 'destroying') await this.#destruction.removeSandbox(workspace);
    return throwDestroyed(workspace.id);
  }

  /** The row goes, or says why, where its caller knows the id. */
  async #giveUp(workspace: Workspace, why: unknown, by: Actor): Promise<unknown> {
    const { store } = this.#context;
    const { id } = workspace;
    const reason = `it could not be created: ${reasonOf(why)}`;
    const mine = { from: ['creating'], own: true, by } as const;
    await recordEnd(this.#context, id, async () => {
      if (workspace.announced) {
        await store.transition(id, { ...mine, to: 'error', changes: { statusReason: reason } });
        return;
      }
      // Nothing to do where a destroy has taken the row: it finishes that itself.
      const taken = await store.transition(id, { ...mine, to: 'destroying', detail: { reason } });
      if (taken) await store.remove(id, by, { reason });
    });
    return why;
  }

  /** The reconciler removes what is left, and then the row. */
  async #leaveUnclean(
    workspace: Workspace,
    why: unknown,
    failure: unknown,
  ): Promise<UncleanAttempt> {
    const { store, releases, log } = this.#context;
    const { id } = workspace;
    log.error('clean-up after a failed create failed', { workspace: id, err: failure });
    const statusReason = `${reasonOf(why)}; clean-up failed: ${reasonOf(failure)}`;
    const changes = { statusReason };
    await recordEnd(this.#context, id, async () => {
      const by = workspace.owner;
      const transition = { from: ['creating'], to: 'destroying', own: true, changes, by } as const;
      if (await store.transition(id, transition)) await releases.release(id);
    });
    return new UncleanAttempt(workspace.provider, why);
  }
}

/** The row is left to the reconciler, in the hands of `provider`; `why` is for the caller. */
export class UncleanAttempt extends Error {
  override readonly name = 'UncleanAttempt';
  readonly provider: string;
  readonly why: unknown;

  constructor(provider: string, why: unknown) {
    super(reasonOf(why));
    this.provider = provider;
    this.why = why;
  }
}

function throwDestroyed(id: string): never {
  throw new EmergentError('wrong_state', `workspace ${id} was destroyed meanwhile`);
}

/** Another provider would refuse it just the same. */
function isCallersFault(error: unknown): boolean {
  return error instanceof EmergentError && callersFaults.includes(error.code);
}

const callersFaults: readonly ErrorCode[] = [
  ...(['invalid_value', 'image_not_found', 'image_access_denied', 'image_unsuitable'] as const),
  ...(['git_failed', 'wrong_state', 'store_unavailable'] as const),
];
