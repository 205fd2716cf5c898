import { Seal } from '../../../../src/base/seal.ts';
import type { Caller } from '../../../../src/domain/caller.ts';
import type { CreateWorkspaceRequest } from '../../../../src/domain/create-request.ts';
import type { PoolDefinition } from '../../../../src/domain/warm-pool.ts';
import type { Workspace, WorkspaceStatus } from '../../../../src/domain/workspace.ts';
import { lifecycleOf } from '../../../../src/engine/lifecycle/lifecycle.ts';
import { Releases } from '../../../../src/engine/lifecycle/releases.ts';
import { RunningChanges } from '../../../../src/engine/lifecycle/running-changes.ts';
import { SandboxSpecs } from '../../../../src/engine/lifecycle/sandbox-specs.ts';
import type { WorkspaceDefaults } from '../../../../src/engine/new-workspace.ts';
import { WarmPool } from '../../../../src/engine/pool/warm-pool.ts';
import type { Providers } from '../../../../src/engine/providers.ts';
import type { Upkeep } from '../../../../src/engine/upkeep.ts';
import { Workspaces } from '../../../../src/engine/workspaces.ts';
import { FakeClock } from '../../../support/clock.ts';
import { recordLog } from '../../../support/log.ts';
import type { RecordedLog } from '../../../support/log.ts';
import { newWorkspace } from '../../../store/fixtures/workspaces.ts';
import { FakeProvider } from './fake-provider.ts';
import { MemoryMcpStore } from './memory-mcp.ts';
import { MemoryPoolStore } from './memory-pools.ts';
import { MemoryWorkspaceStore } from './memory-store.ts';
import { providersOf } from './providers.ts';

export const admin: Caller = { tokenId: 'the admin', role: 'admin' };
export const alice: Caller = { tokenId: 'alice', role: 'agent' };
export const bob: Caller = { tokenId: 'bob', role: 'agent' };

export const request: CreateWorkspaceRequest = {
  provider: 'auto',
  limits: {},
  network: 'nat',
  env: { A: '1' },
  metadata: { purpose: 'test' },
  wait: true,
};

/** An abort signal that nobody aborts. */
export function never(): AbortSignal {
  return new AbortController().signal;
}

export const defaults: WorkspaceDefaults = {
  image: 'base',
  limits: { cpu: 2, memoryBytes: 4 * 2 ** 30, diskBytes: 10 * 2 ** 30 },
  ttlSeconds: 3600,
  deploymentMode: 'self-hosted',
};

export interface Setup {
  readonly workspaces: Workspaces;
  readonly upkeep: Upkeep;
  /** Not started. */
  readonly pool: WarmPool;
  readonly pools: MemoryPoolStore;
  readonly providers: Providers;
  readonly store: MemoryWorkspaceStore;
  readonly provider: FakeProvider;
  readonly clock: FakeClock;
  readonly recorded: RecordedLog;
}

export interface SetupOptions {
  readonly maxConcurrent?: number;
  readonly warmPools?: readonly PoolDefinition[];
  /** Another server on the same database and the same providers. */
  readonly beside?: Setup;
}

/** The engine's workspaces over fakes. */
export function setUp(provider = new FakeProvider(), ...others: FakeProvider[]): Setup {
  return setUpWith({}, provider, ...others);
}

export function setUpWith(
  { maxConcurrent = 100, warmPools = [], beside }: SetupOptions,
  provider = beside?.provider ?? new FakeProvider(),
  ...others: FakeProvider[]
): Setup {
  const clock = beside?.clock ?? new FakeClock();
  const store = new MemoryWorkspaceStore(
    beside ? { clock, server: beside.store.server + 1, on: beside.store } : { clock },
  );
  const recorded = recordLog();
  const { log } = recorded;
  const changes = new RunningChanges();
  const providers = providersOf([provider, ...others], clock);
  const context = {
    ...{ store, mcp: new MemoryMcpStore(store), providers, changes, maxConcurrent, clock, log },
    specs: new SandboxSpecs(new Seal(new Uint8Array(32), 'test')),
    releases: new Releases(store, changes, clock, log),
  };
  const lifecycle = lifecycleOf(context);
  const pools = new MemoryPoolStore(store, beside?.pools);
  const pool = new WarmPool({
    ...{ context, ...lifecycle, pools, definitions: warmPools, release: '1.0.0' },
    rules: {
      allowUnsandboxed: false,
      containerType: 'agent_workspace',
      deploymentMode: defaults.deploymentMode,
    },
  });
  const workspaces = new Workspaces({
    ...{ ...context, lifecycle, defaults, claims: pool.claims, allowUnsandboxed: false },
  });
  const { upkeep } = lifecycle;
  return { workspaces, upkeep, pool, pools, providers, store, provider, clock, recorded };
}

/** A row in the given state with no operator, and its sandbox. */
export function workspaceIn(
  { store, provider }: Setup,
  status: WorkspaceStatus = 'ready',
  changes: Partial<Workspace> = {},
): Workspace {
  const row: Workspace = {
    ...newWorkspace({ owner: 'alice', provider: provider.name }),
    statusReason: null,
    readyAt: new Date('2029-12-31T00:00:00Z'),
    version: 1,
    ...changes,
    status,
  };
  store.rows.set(row.id, row);
  provider.sandboxes.add(row.providerWorkspaceId);
  if (status === 'stopped') provider.stopped.add(row.providerWorkspaceId);
  return row;
}

/** A call that stands still until the test lets it go on. */
export class Gate {
  readonly #reached = Promise.withResolvers<void>();
  readonly #opened = Promise.withResolvers<void>();
  readonly reached: Promise<void> = this.#reached.promise;

  async pass(): Promise<void> {
    this.#reached.resolve();
    await this.#opened.promise;
  }

  open(): void {
    this.#opened.resolve();
  }
}
