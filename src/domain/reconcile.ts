import type { FoundSandbox } from './provider.ts';
import type { Workspace } from './workspace.ts';

/** What the reconciler will do about one workspace, and why, in words for people. */
export type ReconcileAction = {
  readonly workspaceId: string;
  readonly provider: string;
  readonly why: string;
} & (
  | {
      /** A change whose server died: `finish_create` also undoes one that nobody waits for any more. */
      readonly kind: 'finish_create' | 'finish_stop' | 'finish_resume' | 'finish_destroy';
      readonly workspace: Workspace;
    }
  /** A ready one whose sandbox is not running, though its files are there; a stopped one that runs. */
  | { readonly kind: 'restart' | 'stop'; readonly workspace: Workspace }
  /** Its files are gone. */
  | { readonly kind: 'mark_lost'; readonly workspace: Workspace }
  /** No row owns it, and the log knows that one did. */
  | { readonly kind: 'remove'; readonly found: FoundSandbox }
  /**
   * No row owns it, and this database has never heard of it: it may have been set back to an older backup.
   * Left alone unless a person says otherwise.
   */
  | { readonly kind: 'keep_unknown'; readonly found: FoundSandbox }
);

export interface ReconcileReport {
  readonly dryRun: boolean;
  readonly actions: readonly ReconcileOutcome[];
  /** Shared things of providers that were left over, by name. */
  readonly leftovers: readonly {
    readonly provider: string;
    readonly name: string;
    readonly why: string;
  }[];
  /** What could not be looked at; nothing of it was touched. */
  readonly blocked: readonly { readonly provider: string; readonly reason: string }[];
}

export interface ReconcileOutcome {
  readonly workspaceId: string;
  readonly provider: string;
  readonly kind: ReconcileAction['kind'];
  readonly why: string;
  /** Null: not done (dry run, or left alone on purpose). */
  readonly result: 'done' | 'failed' | 'skipped' | null;
  /** Why it failed or was skipped. */
  readonly reason?: string;
}

export interface ReconcileOptions {
  readonly dryRun: boolean;
  /** Younger ones without a row are left alone; undefined: the server's grace period. */
  readonly minAgeMs?: number;
  /** Also remove what this database has never heard of. */
  readonly includeUnknown?: boolean;
}
