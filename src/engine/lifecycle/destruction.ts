import { withDeadline } from '../../base/deadline.ts';
import type { Actor } from '../../domain/events.ts';
import { terminateGraceMs } from '../../domain/provider.ts';
import type { DestroyOptions, SandboxRef } from '../../domain/provider.ts';
import { EmergentError } from '../../domain/errors.ts';
import { workspaceStatuses } from '../../domain/workspace.ts';
import type { Workspace } from '../../domain/workspace.ts';
import { begin } from './begin.ts';
import type { LifecycleContext } from './context.ts';
import { goesOn } from './refusals.ts';
import { refOf } from './sandbox-specs.ts';

/** The grace of running commands, then removal by an engine that may be busy. */
const destroyDeadlineMs = terminateGraceMs + 35_000;
const lookAgainMs = 250;
/** In the row of a server whose volumes stay: what is kept of it. */
const keptVolumes = 'volumes';

/**
 * Ends workspaces, in whatever state. The sandbox goes first and the row last, so nothing is ever left that no
 * row knows of; a destroy that fails leaves the row `destroying`, and the reconciler goes on with it.
 */
export class Destruction {
  readonly #context: LifecycleContext;

  constructor(context: LifecycleContext) {
    this.#context = context;
  }

  /**
   * A second call while the first runs, here or on another server, waits for it and answers the same. What the volumes
   * of an MCP server hold may stay.
   */
  async destroy(
    workspace: Workspace,
    by: Actor,
    { keepVolumes = false }: { readonly keepVolumes?: boolean } = {},
  ): Promise<void> {
    const { store, changes } = this.#context;
    const { id } = workspace;
    if (changes.find(id, 'destroying')) return this.finish(workspace, by, 'on request');
    if (workspace.status === 'destroying' && (await this.#goneElsewhere(id))) return;
    const claimed = await begin(this.#context, id, () =>
      store.transition(id, {
        ...{ from: workspaceStatuses, to: 'destroying', by },
        // Known to whoever finishes this, also after a crash.
        ...(keepVolumes && { changes: { snapshotId: keptVolumes } }),
      }),
    );
    if (!claimed) return;
    if (!changes.find(id, 'destroying')) {
      await changes.callOff(id, new EmergentError('interrupted', `workspace ${id} was destroyed`));
    }
    await this.finish(claimed, by, 'on request');
  }

  /** Of a row in `destroying` whose operator is this server; one that runs already is waited for. */
  async finish(workspace: Workspace, by: Actor, reason: string): Promise<void> {
    const { changes, releases, log } = this.#context;
    const { id, provider } = workspace;
    const running = changes.find(id, 'destroying');
    if (running) {
      await running.done;
      return;
    }
    await changes.run(id, 'destroying', async () => {
      try {
        await this.removeSandbox(workspace);
        await this.#removeRow(workspace, by, reason);
        log.info('workspace destroyed', { workspace: id, provider, reason });
        return undefined;
      } catch (error) {
        await releases.release(id);
        throw goesOn(error, `destroying workspace ${id}`);
      }
    });
  }

  /** Its sandbox is gone: it goes too, also if another server has taken it over meanwhile. */
  async #removeRow(workspace: Workspace, by: Actor, reason: string): Promise<void> {
    const { store, mcp } = this.#context;
    const { id } = workspace;
    const remove = (): Promise<boolean> =>
      keepsVolumes(workspace)
        ? mcp.removeKeeping(id, by, { reason })
        : store.remove(id, by, { reason });
    if (await remove()) return;
    const again = { from: ['destroying'], to: 'destroying', by } as const;
    if (await store.transition(id, again)) await remove();
  }

  async removeSandbox(workspace: Workspace): Promise<void> {
    const keepFiles = keepsVolumes(workspace);
    await this.removeRef(workspace.provider, refOf(workspace), keepFiles ? { keepFiles } : {});
  }

  async removeRef(
    providerName: string,
    ref: SandboxRef,
    options: DestroyOptions = {},
  ): Promise<void> {
    const provider = this.#context.providers.get(providerName);
    await withDeadline(`destroying a workspace on ${providerName}`, destroyDeadlineMs, (signal) =>
      provider.destroy(ref, signal, options),
    );
  }

  /** Another server is at it: true when it is done; false when it takes too long and had better be helped. */
  async #goneElsewhere(id: string): Promise<boolean> {
    const { clock, store } = this.#context;
    const until = clock.monotonic() + terminateGraceMs + 5_000;
    while (clock.monotonic() < until) {
      const row = await store.get(id);
      if (row?.status !== 'destroying') return row === undefined;
      if ((await store.abandoned()).some((each) => each.id === id)) return false;
      await clock.sleep(lookAgainMs);
    }
    return false;
  }
}

function keepsVolumes({ snapshotId, mcpConfig }: Workspace): boolean {
  return mcpConfig !== null && snapshotId === keptVolumes;
}
