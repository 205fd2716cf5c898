import { Seal } from '../../../../src/base/seal.ts';
import type { Caller } from '../../../../src/domain/caller.ts';
import type { CreateWorkspaceRequest } from '../../../../src/domain/create-request.ts';
import type { Workspace, WorkspaceStatus } from '../../../../src/domain/workspace.ts';
import { Releases } from '../../../../src/engine/lifecycle/releases.ts';
import { RunningChanges } from '../../../../src/engine/lifecycle/running-changes.ts';
import { SandboxSpecs } from '../../../../src/engine/lifecycle/sandbox-specs.ts';
import { Providers } from '../../../../src/engine/providers.ts';
import { Workspaces } from '../../../../src/engine/workspaces.ts';
import { FakeClock } from '../../../support/clock.ts';
import { recordLog } from '../../../support/log.ts';
import type { RecordedLog } from '../../../support/log.ts';
import { newWorkspace } from '../../../store/fixtures/workspaces.ts';
import { FakeProvider } from './fake-provider.ts';
import { MemoryWorkspaceStore } from './memory-store.ts';

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

export interface Setup {
  readonly workspaces: Workspaces;
  readonly store: MemoryWorkspaceStore;
  readonly provider: FakeProvider;
  readonly clock: FakeClock;
  readonly recorded: RecordedLog;
}

export interface SetupOptions {
  readonly maxConcurrent?: number;
  /** Another server on the same database and the same providers. */
  readonly beside?: Setup;
}

/** The engine's workspaces over fakes. */
export function setUp(provider = new FakeProvider(), ...others: FakeProvider[]): Setup {
  return setUpWith({}, provider, ...others);
}

export function setUpWith(
  { maxConcurrent = 100, beside }: SetupOptions,
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
  const workspaces = new Workspaces({
    store,
    providers: new Providers([provider, ...others], clock),
    specs: new SandboxSpecs(new Seal(new Uint8Array(32), 'test')),
    changes,
    releases: new Releases(store, changes, clock, log),
    maxConcurrent,
    defaults: {
      image: 'base',
      limits: { cpu: 2, memoryBytes: 4 * 2 ** 30, diskBytes: 10 * 2 ** 30 },
      ttlSeconds: 3600,
      deploymentMode: 'self-hosted',
    },
    allowUnsandboxed: false,
    clock,
    log,
  });
  return { workspaces, store, provider, clock, recorded };
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
