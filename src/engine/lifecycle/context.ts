import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { McpStore, WorkspaceStore } from '../../domain/store.ts';
import type { Providers } from '../providers.ts';
import type { Releases } from './releases.ts';
import type { RunningChanges } from './running-changes.ts';
import type { SandboxSpecs } from './sandbox-specs.ts';

/** What every change of a workspace works with. */
export interface LifecycleContext {
  readonly store: WorkspaceStore;
  readonly mcp: Pick<McpStore, 'removeKeeping' | 'kept'>;
  readonly providers: Providers;
  readonly specs: SandboxSpecs;
  readonly changes: RunningChanges;
  readonly releases: Releases;
  /** How many agent workspaces may run at once, on all servers of the database together. */
  readonly maxConcurrent: number;
  readonly clock: Clock;
  readonly log: Log;
}
