import { withDeadline } from '../../base/deadline.ts';
import { reasonOf } from '../../base/reason.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import type { Actor } from '../../domain/events.ts';
import type { CreatedSandbox } from '../../domain/provider.ts';
import type { NewWorkspace } from '../../domain/store.ts';
import type { Workspace } from '../../domain/workspace.ts';
import { programFacts } from '../mcp/program.ts';
import { adopt, rest } from './adoption.ts';
import type { Adoption } from './adoption.ts';
import { AttemptCounts, Attempts } from './attempts.ts';
import type { Attempt } from './attempts.ts';
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
import { UncleanAttempt } from './unclean-attempt.ts';

const abandonDeadlineMs = 30_000;

/**
 * Makes workspaces. Intent before effect: the row stands, with the sandbox's name in it, before anything is
 * created. One row is one create, also when several providers are tried; nothing of a failed one stays.
 */
export class Creation {
  readonly counts = new AttemptCounts();
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
   * From an admitted row to a ready workspace, or to a warm one where the row is a pool's; a destroy or `signal`
   * calls it off. With `adoption` its sandbox was waiting, and is only made if that turns out to be dead. An attempt
   * that could not be cleaned up ends the row's use: UncleanAttempt.
   */
  run(
    workspace: Workspace,
    candidates: Candidates,
    by: Actor,
    signal: AbortSignal,
    adoption?: Adoption,
  ): Promise<Workspace> {
    const { changes } = this.#context;
    return changes.run(workspace.id, 'creating', (calledOff) =>
      this.#tryAll(
        { workspace, candidates, by, adoption, signal: AbortSignal.any([signal, calledOff]) },
        new Attempts(workspace, { ...this.#context, counts: this.counts }),
      ),
    );
  }

  async #tryAll(order: Order, attempts: Attempts): Promise<Workspace> {
    const { candidates, by, signal } = order;
    const { clock } = this.#context;
    let current = order.workspace;
    for (const [index, name] of candidates.order.entries()) {
      const startedAt = clock.monotonic();
      try {
        current = await this.#moveTo(current, name, attempts.failures, by);
        return await this.#make({ ...order, workspace: current }, attempts, startedAt);
      } catch (error) {
        const unclean = error instanceof UncleanAttempt;
        const why = unclean ? error.why : error;
        const blamed = !signal.aborted && !isCallersFault(why);
        const last = signal.aborted || candidates.explicit || isCallersFault(why);
        const next = last ? undefined : candidates.order[index + 1];
        attempts.failed(name, Math.round(clock.monotonic() - startedAt), why, { next, blamed });
        if (unclean) throw error.among(attempts.failures, last);
        if (last) throw await this.#giveUp(current, error, by);
      }
    }
    const none = noneCan([...candidates.leftOut, ...attempts.failures]);
    throw await this.#giveUp(current, none, by);
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

  async #make(order: Order, attempts: Attempts, startedAt: number): Promise<Workspace> {
    const { workspace, candidates, by, signal } = order;
    const { clock } = this.#context;
    const instead = [...candidates.leftOut, ...attempts.failures];
    const warned = await noteReducedIsolation(this.#context, workspace, instead);
    const made = await this.#sandbox(order, attempts);
    const cloned = await this.#orRemoved(workspace, () => this.#furnish(workspace, by, signal));
    const attempt: Attempt = {
      provider: workspace.provider,
      result: made.result,
      ms: Math.round(clock.monotonic() - startedAt),
    };
    const metadata = {
      ...{ ...made.sandbox.metadata, ...cloned, ...warned },
      attempts: [...attempts.all, attempt],
    };
    const ready = await this.#settle(workspace, { ...made.sandbox, metadata }, by);
    attempts.succeeded(attempt);
    return ready;
  }

  /** What a pool is for waits from now on; anything else gets its repository. */
  async #furnish(
    workspace: Workspace,
    by: Actor,
    signal: AbortSignal,
  ): Promise<CreatedSandbox['metadata']> {
    if (workspace.pool === null) return cloneRepository(this.#context, workspace, by, signal);
    await rest(this.#context, workspace, signal);
    return {};
  }

  /** What waits is taken only where it waits: any other provider makes its own. */
  async #sandbox(
    { workspace, by, signal, adoption }: Order,
    { all: earlier }: Attempts,
  ): Promise<{ readonly sandbox: CreatedSandbox; readonly result: 'adopted' | 'created' }> {
    if (adoption && earlier.length === 0) {
      const work = (): Promise<boolean> => adopt(this.#context, workspace, adoption, signal);
      if (await this.#orRemoved(workspace, work)) {
        const sandbox = { limits: workspace.resourceLimits, metadata: {} };
        return { sandbox, result: 'adopted' };
      }
    }
    return { sandbox: await this.#createSandbox(workspace, by, signal), result: 'created' };
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

  /** For what is done in a sandbox that is there: the same holds. */
  async #orRemoved<T>(workspace: Workspace, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      await this.#destruction.removeSandbox(workspace).catch(async (failure: unknown) => {
        throw await this.#leaveUnclean(workspace, error, failure);
      });
      throw error;
    }
  }

  async #settle(workspace: Workspace, created: CreatedSandbox, by: Actor): Promise<Workspace> {
    const { store, specs, clock } = this.#context;
    const { provider, pool } = workspace;
    const ready = await store
      .transition(workspace.id, {
        from: ['creating'],
        to: pool === null ? 'ready' : 'warm',
        own: true,
        changes: {
          // What waits in a pool holds nothing of anybody's.
          ...(pool === null && { readyAt: clock.now() }),
          ...specs.withoutCredentials(workspace),
          resourceLimits: created.limits,
          metadata: {
            ...workspace.metadata,
            ...created.metadata,
            ...programFacts(workspace, created.program),
          },
        },
        by,
        detail: pool === null ? { provider } : { provider, pool },
      })
      .catch(async (error: unknown) => {
        // The row may say `ready` or `creating` now. Both fit a sandbox that is there, so it stays.
        await this.#context.releases.release(workspace.id);
        throw new UncleanAttempt(provider, error, 'final');
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

/** What is to be created, for whom. */
interface Order {
  readonly workspace: Workspace;
  readonly candidates: Candidates;
  readonly by: Actor;
  readonly adoption: Adoption | undefined;
  readonly signal: AbortSignal;
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
