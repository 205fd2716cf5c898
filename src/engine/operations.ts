import type { Clock } from '../base/clock.ts';
import { withDeadline } from '../base/deadline.ts';
import type { Log } from '../base/log.ts';
import type { Caller } from '../domain/caller.ts';
import { maySee } from '../domain/caller.ts';
import { EmergentError } from '../domain/errors.ts';
import { cut } from '../domain/events.ts';
import type { ToolCall, ToolName } from '../domain/events.ts';
import type { EventStore, WorkspaceStore } from '../domain/store.ts';
import type { Workspace } from '../domain/workspace.ts';
import type { Activity } from './activity.ts';
import { notFound, wrongState } from './lifecycle/refusals.ts';
import { refOf } from './lifecycle/sandbox-specs.ts';
import { Operation } from './operation.ts';
import type { Outcome, Target } from './operation.ts';
import type { Providers } from './providers.ts';

export interface OperationsOptions {
  readonly store: WorkspaceStore;
  readonly events: EventStore;
  readonly providers: Providers;
  readonly activity: Activity;
  readonly clock: Clock;
  readonly log: Log;
  /** A sandbox did not answer although its row says ready: somebody should look. */
  readonly onUnreachable: (workspaceId: string) => void;
}

/** An answer must not wait for a slow log. */
const recordMs = 2_000;

/**
 * Operations on a workspace that is ready: each notes its use before it begins, counts as in flight while it
 * runs, and leaves an event when it has ended.
 */
export class Operations {
  readonly #options: OperationsOptions;

  constructor(options: OperationsOptions) {
    this.#options = options;
  }

  async begin(caller: Caller, id: string, tool: ToolName, subject: string): Promise<Operation> {
    const { store, activity, clock } = this.#options;
    const owner = caller.role === 'admin' ? undefined : caller.tokenId;
    const workspace =
      (await store.touch(id, clock.now(), owner)) ?? (await this.#lookAgain(caller, id));
    const call = { workspaceId: id, owner: workspace.owner, actor: caller.tokenId, tool };
    const startedAt = clock.monotonic();
    const target = this.#target(workspace);
    return new Operation(target, activity.begin(id), this, async (result, outcome) => {
      const duration = Math.round(clock.monotonic() - startedAt);
      const detail = { subject: cut(subject), duration_ms: duration, result, ...outcome };
      await this.#record({ ...call, at: clock.now(), detail });
    });
  }

  /** What a ready workspace can be looked at through; looking is not a use. */
  async look(caller: Caller, id: string): Promise<Target> {
    const workspace = await this.#visible(caller, id);
    if (workspace.status !== 'ready') throw wrongState(workspace);
    return this.#target(workspace);
  }

  async explained<T>(id: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw await this.explain(id, error);
    }
  }

  /** Runs a whole operation that answers once. */
  async run<T>(
    caller: Caller,
    id: string,
    tool: ToolName,
    subject: string,
    work: (target: Target) => Promise<T>,
    outcome: () => Outcome = () => ({}),
  ): Promise<T> {
    const operation = await this.begin(caller, id, tool, subject);
    try {
      const result = await work(operation.target);
      await operation.succeeded(outcome());
      return result;
    } catch (error) {
      throw await operation.failed(error, outcome());
    }
  }

  /** Whether the workspace was stopped or destroyed while something ran in it. */
  async leftReady(id: string): Promise<Workspace | 'gone' | undefined> {
    const row = await this.#options.store.get(id);
    if (!row) return 'gone';
    return row.status === 'ready' ? undefined : row;
  }

  /** A lost sandbox is explained by what became of its workspace. */
  async explain(id: string, error: unknown): Promise<unknown> {
    if (!(error instanceof EmergentError) || error.code !== 'sandbox_unreachable') return error;
    const left = await this.leftReady(id).catch(() => undefined);
    if (!left) {
      this.#options.onUnreachable(id);
      return error;
    }
    const what = left === 'gone' ? 'destroyed' : left.status;
    const message = `the operation was interrupted: workspace ${id} is ${what}`;
    return new EmergentError('interrupted', message, { cause: error, details: { status: what } });
  }

  #target(workspace: Workspace): Target {
    const provider = this.#options.providers.get(workspace.provider);
    return { workspace, provider, ref: refOf(workspace) };
  }

  async #visible(caller: Caller, id: string): Promise<Workspace> {
    const workspace = await this.#options.store.get(id);
    if (!workspace || !maySee(caller, workspace)) throw notFound(id);
    return workspace;
  }

  async #lookAgain(caller: Caller, id: string): Promise<Workspace> {
    const { store, clock } = this.#options;
    const workspace = await this.#visible(caller, id);
    // It may have become ready just now.
    const ready = workspace.status === 'ready' ? await store.touch(id, clock.now()) : undefined;
    if (ready) return ready;
    throw wrongState(workspace);
  }

  /** What was done is done: a log that cannot be written to is told to the operator, not to the caller. */
  async #record(call: ToolCall): Promise<void> {
    const { events, log } = this.#options;
    try {
      await withDeadline('recording an event', recordMs, () => events.recordCalls([call]));
    } catch (error) {
      log.warn('a tool call could not be recorded', {
        ...call.detail,
        tool: call.tool,
        err: error,
      });
    }
  }
}
