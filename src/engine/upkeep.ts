import type { Actor } from '../domain/events.ts';
import type { SandboxRef } from '../domain/provider.ts';
import type { Workspace } from '../domain/workspace.ts';

/**
 * The changes of workspaces that the server makes by itself. Of the rows handed to a `finish…` this server is
 * the operator (`takeOver`, `claimExpired`). Each has deadlines of its own, leaves events and log lines, and
 * throws when it fails; the row is then released, so that a later turn tries again, or says `error` and why.
 */
export interface Upkeep {
  /** Makes it again from what the row holds if its caller knows the id, undoes it otherwise. */
  finishCreate(workspace: Workspace): Promise<void>;
  finishStop(workspace: Workspace): Promise<void>;
  finishResume(workspace: Workspace): Promise<void>;
  /** The sandbox, then the row. */
  finishDestroy(workspace: Workspace, why: string, by?: Actor): Promise<void>;
  /** A ready workspace whose sandbox does not run is resumed. */
  restart(workspace: Workspace, why: string): Promise<void>;
  /** A stopped workspace whose sandbox runs is stopped again. */
  stopAgain(workspace: Workspace, why: string): Promise<void>;
  /** Its files are gone: `error`, with the reason. */
  markLost(workspace: Workspace, why: string): Promise<void>;
  /** A sandbox that no row owns. */
  removeUnowned(provider: string, ref: SandboxRef): Promise<void>;
  /** Ids of workspaces that this process is changing right now: leave them alone. */
  changing(): ReadonlySet<string>;
}
