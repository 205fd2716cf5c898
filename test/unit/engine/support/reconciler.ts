import { randomUUID } from 'node:crypto';
import type { WorkspaceProvider } from '../../../../src/domain/provider.ts';
import type { Workspace, WorkspaceStatus } from '../../../../src/domain/workspace.ts';
import { Reconciler } from '../../../../src/engine/reconciler.ts';
import { newWorkspace } from '../../../store/fixtures/workspaces.ts';
import { FakeClock } from '../../../support/clock.ts';
import { recordLog } from '../../../support/log.ts';
import type { RecordedLog } from '../../../support/log.ts';
import { FakeProvider } from './fake-provider.ts';
import { FakeUpkeep } from './fake-upkeep.ts';
import { MemoryMcpStore } from './memory-mcp.ts';
import { MemoryWorkspaceStore } from './memory-store.ts';
import { providersOf } from './providers.ts';

export interface ReconcilerSetup {
  readonly reconciler: Reconciler;
  readonly store: MemoryWorkspaceStore;
  readonly upkeep: FakeUpkeep;
  readonly provider: FakeProvider;
  readonly clock: FakeClock;
  readonly recorded: RecordedLog;
  /** What the log says, without the levels that only developers read. */
  readonly told: () => readonly string[];
}

/** A reconciler that is not started, over fakes; `provider` is the first of its providers. */
export function setUpReconciler(...others: WorkspaceProvider[]): ReconcilerSetup {
  const provider = new FakeProvider();
  const clock = new FakeClock();
  const store = new MemoryWorkspaceStore({ clock });
  const upkeep = new FakeUpkeep();
  const recorded = recordLog();
  const reconciler = new Reconciler({
    store,
    events: store.events,
    mcp: new MemoryMcpStore(store),
    providers: providersOf([provider, ...others], clock),
    upkeep,
    releases: store,
    clock,
    log: recorded.log,
  });
  const told = (): readonly string[] =>
    recorded
      .entries()
      .filter(({ level }) => level !== 'debug')
      .map(({ level, msg }) => `${level}: ${msg}`);
  return { reconciler, store, upkeep, provider, clock, recorded, told };
}

/** A row that nobody works on. */
export function addRow(
  { store }: Pick<ReconcilerSetup, 'store'>,
  status: WorkspaceStatus,
  overrides: Partial<Workspace> = {},
): string {
  const row: Workspace = {
    ...newWorkspace({ provider: 'fake' }),
    statusReason: null,
    readyAt: null,
    version: 1,
    ...overrides,
    status,
  };
  store.rows.set(row.id, row);
  return row.id;
}

/** A sandbox as newly made by no workspace, or by that with this id. */
export function addSandbox({ provider }: Pick<ReconcilerSetup, 'provider'>, id?: string): string {
  const workspaceId = id ?? randomUUID();
  provider.sandboxes.add(`agent-workspace-${workspaceId}`);
  return workspaceId;
}

/** The log has heard of this workspace. */
export function makeKnown({ store, clock }: ReconcilerSetup, workspaceId: string): void {
  store.events.append({
    ...{ workspaceId, owner: 'alice', actor: 'alice', type: 'workspace.destroyed', detail: {} },
    at: clock.now(),
  });
}
