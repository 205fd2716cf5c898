import { randomUUID } from 'node:crypto';
import { reasonOf } from '../../base/reason.ts';
import { actors } from '../../domain/events.ts';
import type { Retirement } from '../../domain/pool-plan.ts';
import type { NewWorkspace, PoolStore } from '../../domain/store.ts';
import type { PoolDefinition } from '../../domain/warm-pool.ts';
import type { DeploymentMode, Workspace } from '../../domain/workspace.ts';
import { rest } from '../lifecycle/adoption.ts';
import { begin } from '../lifecycle/begin.ts';
import type { LifecycleContext } from '../lifecycle/context.ts';
import type { Creation } from '../lifecycle/creation.ts';
import type { Destruction } from '../lifecycle/destruction.ts';

export interface MembersOptions {
  readonly context: LifecycleContext;
  readonly pools: Pick<PoolStore, 'reserve'>;
  readonly creation: Creation;
  readonly destruction: Destruction;
  readonly deploymentMode: DeploymentMode;
}

/** How a sandbox that waits is to be made. */
export interface MemberOrder {
  readonly definition: PoolDefinition;
  readonly size: number;
  readonly provider: string;
  readonly key: string;
}

/** So many turns may pass without an answer. */
const patience = 3;
const by = actors.warmPool;

/** How members come and go: by the same ways as workspaces, so that a server that is killed leaves nothing behind. */
export class Members {
  readonly #options: MembersOptions;
  /** How often in a row each did not answer. */
  readonly #silent = new Map<string, number>();

  constructor(options: MembersOptions) {
    this.#options = options;
  }

  /** Undefined: the pool has got enough meanwhile, by another server. `onReserved`: its row is written. */
  async make(
    order: MemberOrder,
    signal: AbortSignal,
    onReserved: () => void,
  ): Promise<Workspace | undefined> {
    const { context, pools, creation } = this.#options;
    const row = this.#newRow(order);
    const reserved = await begin(context, row.id, () => pools.reserve(row, order.size));
    if (!reserved) return undefined;
    onReserved();
    const candidates = { order: [order.provider], leftOut: [], explicit: true } as const;
    return creation.run(reserved, candidates, by, signal);
  }

  /**
   * To be done again and again: after a restart of the server or of what it runs on, the way to a member is no longer
   * open. Never fails.
   */
  async rest(member: Workspace, signal: AbortSignal): Promise<void> {
    const { context } = this.#options;
    const { id, pool } = member;
    try {
      await rest(context, member, signal);
      this.#silent.delete(id);
    } catch (error) {
      if (signal.aborted) return;
      // It may have been claimed just now. Whether it lives is asked by whoever takes it.
      this.#silent.set(id, (this.#silent.get(id) ?? 0) + 1);
      context.log.debug('a warm sandbox is not at rest', {
        workspace: id,
        pool,
        reason: reasonOf(error),
      });
    }
  }

  /** Runs perhaps, but does not answer: nobody should get it. */
  isSilent({ id }: Workspace): boolean {
    return (this.#silent.get(id) ?? 0) >= patience;
  }

  /** Nothing happens if somebody has it already. */
  async retire({ member, why }: Retirement): Promise<void> {
    const { context, destruction } = this.#options;
    const { id, pool } = member;
    const detail = { reason: why };
    const transition = { from: ['warm'], to: 'destroying', by, detail } as const;
    const taken = await begin(context, id, () => context.store.transition(id, transition));
    if (!taken) return;
    context.log.info('a warm sandbox is retired', { workspace: id, pool, why });
    await destruction.finish(taken, by, why);
  }

  /** Forgets all that are not among these. */
  keepOnly(ids: ReadonlySet<string>): void {
    for (const id of this.#silent.keys()) if (!ids.has(id)) this.#silent.delete(id);
  }

  #newRow({ definition, provider, key }: MemberOrder): NewWorkspace {
    const id = randomUUID();
    const now = this.#options.context.clock.now();
    return {
      id,
      owner: actors.warmPool,
      agentSessionId: null,
      containerType: 'agent_workspace',
      provider,
      providerWorkspaceId: `emergent-${id}`,
      image: definition.image,
      repositoryUrl: null,
      branch: null,
      deploymentMode: this.#options.deploymentMode,
      lifecycle: 'ephemeral',
      status: 'creating',
      desiredState: 'running',
      network: definition.network,
      resourceLimits: definition.limits,
      snapshotId: null,
      mcpConfig: null,
      metadata: {},
      sealedEnv: null,
      announced: false,
      createdAt: now,
      lastUsedAt: now,
      ttlSeconds: null,
      expiresAt: null,
      pool: definition.name,
      poolKey: key,
    };
  }
}
