import { withDeadline } from '../../base/deadline.ts';
import { reasonOf } from '../../base/reason.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { Actor } from '../../domain/events.ts';
import { terminateGraceMs } from '../../domain/provider.ts';
import type { CreatedSandbox, StopOptions } from '../../domain/provider.ts';
import type { Transition, WorkspaceChanges } from '../../domain/store.ts';
import type { Workspace, WorkspaceStatus } from '../../domain/workspace.ts';
import { programFacts } from '../mcp/program.ts';
import { begin } from './begin.ts';
import { cloneRepository } from './clone.ts';
import type { LifecycleContext } from './context.ts';
import { recordEnd } from './record-end.ts';
import { goesOn, isPassing, limitReached, notFound, wrongState } from './refusals.ts';
import { refOf } from './sandbox-specs.ts';
import { startSandbox } from './start-progress.ts';

/** Beyond the grace of running commands: for an engine that may be busy. */
const stopSlackMs = 35_000;
/** For a change that another server makes. */
const elsewhereMs = 90_000;
const lookAgainMs = 250;

/**
 * ready -> stopping -> stopped        the files stay, commands end; a stop that fails is gone on with later
 * stopped | error -> resuming -> ready    takes a slot of the limit
 * resuming -> stopped (may work later) | error (will not)
 */
export class Suspension {
  readonly #context: LifecycleContext;

  constructor(context: LifecycleContext) {
    this.#context = context;
  }

  stop(workspace: Workspace, by: Actor, options?: StopOptions): Promise<Workspace> {
    return this.#stop(workspace, by, { desiredState: 'stopped' }, options);
  }

  /** Stops what is wanted running all the same: whoever looks after it starts it again. */
  suspend(workspace: Workspace, by: Actor, options?: StopOptions): Promise<Workspace> {
    return this.#stop(workspace, by, {}, options);
  }

  resume(workspace: Workspace, by: Actor): Promise<Workspace> {
    return this.#bring(workspace.id, 'resuming', 'ready', ['stopped'], (row) =>
      this.#beginResume(row, by),
    );
  }

  recover(workspace: Workspace, by: Actor): Promise<Workspace> {
    return this.#bring(workspace.id, 'resuming', 'ready', ['error'], (row) =>
      this.#beginResume(row, by),
    );
  }

  /** What should run and does not answer is looked after: one that runs is left as it is. */
  revive({ id }: Workspace, by: Actor, why: string): Promise<Workspace | undefined> {
    return this.#again(id, ['ready'], {}, by, why);
  }

  /** Of one whose files are gone: a sandbox is made as if there had never been one. */
  recreate({ id }: Workspace, by: Actor, why: string): Promise<Workspace | undefined> {
    return this.#again(id, ['error', 'stopped'], { readyAt: null }, by, why);
  }

  /** Of a row in `stopping` whose operator is this server. */
  finishStop(workspace: Workspace, by: Actor, options: StopOptions = {}): Promise<Workspace> {
    const { changes, providers, store, releases, log } = this.#context;
    const { id } = workspace;
    const provider = providers.get(workspace.provider);
    return changes.run(id, 'stopping', async (signal) => {
      try {
        await withDeadline(
          `stopping a workspace on ${provider.name}`,
          (options.graceMs ?? terminateGraceMs) + stopSlackMs,
          (inner) => provider.stop(refOf(workspace), inner, options),
          signal,
        );
        const stopped = await store.transition(id, {
          from: ['stopping'],
          to: 'stopped',
          own: true,
          by,
        });
        if (!stopped) throw takenOver(id);
        log.info('workspace stopped', { workspace: id, provider: provider.name });
        return stopped;
      } catch (error) {
        // A destroy that called this off goes on with the row itself.
        if (signal.aborted) throw error;
        await releases.release(id);
        throw goesOn(error, `stopping workspace ${id}`);
      }
    });
  }

  /** Of a row in `resuming` whose operator is this server. `failTo`: where it goes if it may work later. */
  finishResume(
    workspace: Workspace,
    by: Actor,
    failTo: 'stopped' | 'resuming' = 'stopped',
  ): Promise<Workspace> {
    const { changes, clock, log } = this.#context;
    const { id, provider } = workspace;
    return changes.run(id, 'resuming', async (signal) => {
      const startedAt = clock.monotonic();
      try {
        const resumed = await this.#runSandbox(workspace, by, signal);
        const cloned = await this.#cloneIfNew(workspace, by, signal);
        const metadata = { ...resumed.metadata, ...cloned };
        const ready = await this.#settle(workspace, { ...resumed, metadata }, by);
        const ms = Math.round(clock.monotonic() - startedAt);
        log.info('workspace resumed', { workspace: id, provider, ms });
        return ready;
      } catch (error) {
        await this.#fallBack(workspace, error, failTo, by);
        throw error;
      }
    });
  }

  #stop(
    workspace: Workspace,
    by: Actor,
    wanted: Pick<WorkspaceChanges, 'desiredState'>,
    options?: StopOptions,
  ): Promise<Workspace> {
    const { store, clock } = this.#context;
    const transition: Transition = {
      from: ['ready'],
      to: 'stopping',
      changes: { ...usedNow(workspace, clock.now()), ...wanted },
      by,
    };
    return this.#bring(workspace.id, 'stopping', 'stopped', ['ready'], async (row) => {
      const begun = await begin(this.#context, row.id, () => store.transition(row.id, transition));
      return begun && { begun, finish: () => this.finishStop(begun, by, options) };
    });
  }

  /** Undefined: it is in another state now. */
  async #again(
    id: string,
    from: readonly WorkspaceStatus[],
    changes: WorkspaceChanges,
    by: Actor,
    why: string,
  ): Promise<Workspace | undefined> {
    const { store } = this.#context;
    const transition: Transition = { from, to: 'resuming', changes, by, detail: { reason: why } };
    const begun = await begin(this.#context, id, () => store.transition(id, transition));
    return begun && this.finishResume(begun, by);
  }

  async #beginResume(row: Workspace, by: Actor): Promise<Begun | undefined> {
    const { store, clock, maxConcurrent } = this.#context;
    const transition: Transition = {
      from: [row.status],
      to: 'resuming',
      changes: { ...usedNow(row, clock.now()), desiredState: 'running' },
      by,
    };
    const begun = await begin(this.#context, row.id, () =>
      store.transitionWithin(row.id, transition, maxConcurrent),
    );
    if (begun && 'running' in begun) throw limitReached(maxConcurrent, begun.running);
    return begun && { begun, finish: () => this.finishResume(begun, by) };
  }

  /** One that never was ready has no files to come back to, and is simply made. */
  #runSandbox(workspace: Workspace, by: Actor, signal: AbortSignal): Promise<CreatedSandbox> {
    const { providers, specs } = this.#context;
    const provider = providers.get(workspace.provider);
    const spec = specs.of(workspace);
    const what = `resuming a workspace on ${provider.name}`;
    return startSandbox(this.#context, { workspace, by, what }, signal, (inner, onProgress) =>
      workspace.readyAt === null
        ? provider.create(spec, inner, onProgress)
        : provider.resume(refOf(workspace), spec, inner, onProgress),
    );
  }

  async #cloneIfNew(
    workspace: Workspace,
    by: Actor,
    signal: AbortSignal,
  ): Promise<CreatedSandbox['metadata']> {
    return workspace.readyAt === null ? cloneRepository(this.#context, workspace, by, signal) : {};
  }

  async #settle(workspace: Workspace, resumed: CreatedSandbox, by: Actor): Promise<Workspace> {
    const { store, specs, clock } = this.#context;
    const now = clock.now();
    const ready = await store.transition(workspace.id, {
      from: ['resuming'],
      to: 'ready',
      own: true,
      changes: {
        ...specs.withoutCredentials(workspace),
        ...usedNow(workspace, now),
        readyAt: workspace.readyAt ?? now,
        resourceLimits: resumed.limits,
        metadata: {
          ...workspace.metadata,
          ...resumed.metadata,
          ...programFacts(workspace, resumed.program),
        },
      },
      by,
    });
    if (!ready) throw takenOver(workspace.id);
    return ready;
  }

  async #fallBack(
    workspace: Workspace,
    why: unknown,
    failTo: 'stopped' | 'resuming',
    by: Actor,
  ): Promise<void> {
    const { store, releases, log } = this.#context;
    const { id } = workspace;
    log.warn('a workspace could not be resumed', { workspace: id, err: why });
    const to: WorkspaceStatus = isPassing(why) && workspace.readyAt !== null ? failTo : 'error';
    const changes = { statusReason: `it could not be resumed: ${reasonOf(why)}` };
    await recordEnd(this.#context, id, async () => {
      await store.transition(id, { from: ['resuming'], to, own: true, changes, by });
      if (to === 'resuming') await releases.release(id);
    });
  }

  /**
   * Begins a change, joins the one that runs already, or answers with the workspace that is there. Whoever
   * loses the race for the row looks again at what the winner made of it.
   */
  async #bring(
    id: string,
    via: 'stopping' | 'resuming',
    target: WorkspaceStatus,
    from: readonly WorkspaceStatus[],
    begin: (row: Workspace) => Promise<Begun | undefined>,
  ): Promise<Workspace> {
    const { changes, store, clock } = this.#context;
    const until = clock.monotonic() + elsewhereMs;
    for (;;) {
      const running = changes.find(id, via);
      if (running) return (await running.done) ?? throwNotFound(id);
      const row = (await store.get(id)) ?? throwNotFound(id);
      if (row.status === target) return row;
      if (row.status === via && clock.monotonic() < until) await clock.sleep(lookAgainMs);
      else if (!from.includes(row.status)) throw wrongState(row);
      else {
        const begun = await begin(row);
        if (begun) return begun.finish();
      }
    }
  }
}

interface Begun {
  readonly begun: Workspace;
  readonly finish: () => Promise<Workspace>;
}

/** Stopping and resuming are uses too: what was just resumed must not expire. */
function usedNow(workspace: Workspace, now: Date): WorkspaceChanges {
  if (workspace.ttlSeconds === null || workspace.expiresAt === null) return { lastUsedAt: now };
  const expiresAt = new Date(
    Math.max(workspace.expiresAt.getTime(), now.getTime() + workspace.ttlSeconds * 1000),
  );
  return { lastUsedAt: now, expiresAt };
}

function takenOver(id: string): EmergentError {
  return new EmergentError('interrupted', `workspace ${id} was changed by somebody else meanwhile`);
}

function throwNotFound(id: string): never {
  throw notFound(id);
}
