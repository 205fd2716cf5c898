import type { FoundPath } from './search-tools.ts';

/** The git tool. `path` is the repository's directory; paths of files are relative to it. */
export type GitRequest = { readonly path: string } & GitAction;

export type GitAction =
  | { readonly action: 'status' }
  | {
      readonly action: 'diff';
      /** What is staged, instead of what is not. */
      readonly staged: boolean;
      /** A commit to compare with, or a range "a..b". */
      readonly ref?: string;
      readonly files: readonly string[];
    }
  | {
      readonly action: 'commit';
      readonly message: string;
      /** Stage every change first. */
      readonly all: boolean;
      /** Stage these first. */
      readonly files: readonly string[];
      readonly author?: GitAuthor;
    }
  | {
      readonly action: 'checkout';
      readonly ref?: string;
      /** Make the branch `ref`, at `startPoint` or where one is. */
      readonly create: boolean;
      readonly startPoint?: string;
      /** Bring back only these. */
      readonly files: readonly string[];
    }
  | {
      readonly action: 'pull';
      readonly remote?: string;
      readonly branch?: string;
      readonly strategy: GitPullStrategy;
    }
  | {
      readonly action: 'push';
      readonly remote?: string;
      readonly branch?: string;
      readonly setUpstream: boolean;
      /** Over what the remote was last known to hold, and nothing else. */
      readonly force: boolean;
    };

export const gitPullStrategies = ['ff-only', 'rebase', 'merge'] as const;
export type GitPullStrategy = (typeof gitPullStrategies)[number];

export interface GitAuthor {
  readonly name: string;
  readonly email: string;
}

export type GitResult =
  | ({ readonly action: 'status' } & GitStatus)
  | {
      readonly action: 'diff';
      readonly files: readonly GitChangedFile[];
      readonly patch: string;
      /** The patch, or the list of files, is longer than what is answered. */
      readonly truncated: boolean;
    }
  | ({ readonly action: 'commit'; readonly files: readonly GitChangedFile[] } & GitHead)
  | ({ readonly action: 'checkout' } & GitHead)
  | ({
      readonly action: 'pull';
      readonly before: string | null;
      readonly updated: boolean;
    } & GitHead)
  | { readonly action: 'push'; readonly refs: readonly GitPushedRef[] };

export interface GitHead {
  /** Null on a branch without commits. */
  readonly commit: string | null;
  /** Null: no branch is checked out. */
  readonly branch: string | null;
}

export interface GitStatus extends GitHead {
  readonly upstream: string | null;
  readonly ahead: number;
  readonly behind: number;
  readonly clean: boolean;
  readonly files: readonly GitFileStatus[];
  readonly truncated: boolean;
}

export const gitFileKinds = ['changed', 'renamed', 'unmerged', 'untracked'] as const;

export interface GitFileStatus extends FoundPath {
  readonly kind: (typeof gitFileKinds)[number];
  /** Git's letters, such as "M"; "." where nothing changed. */
  readonly index: string;
  readonly worktree: string;
  /** Of one that was renamed or copied. */
  readonly from?: string;
}

export interface GitChangedFile extends FoundPath {
  /** Lines; null for binary files. */
  readonly added: number | null;
  readonly deleted: number | null;
  readonly from?: string;
}

export const gitPushStatuses = [
  'updated',
  'forced',
  'created',
  'deleted',
  'up_to_date',
  'rejected',
] as const;

export interface GitPushedRef {
  readonly status: (typeof gitPushStatuses)[number];
  readonly from: string;
  readonly to: string;
  readonly summary: string;
}

export const gitLimits = {
  /** Answered of a status or a diff. */
  files: 1_000,
  patchBytes: 200 * 1024,
  /** Kept of what git says when it fails. */
  messageBytes: 4 * 1024,
  localDeadlineMs: 120_000,
  /** What goes over a network. */
  remoteDeadlineMs: 5 * 60_000,
  cloneDeadlineMs: 30 * 60_000,
  /** How long a network may be silent. */
  stalledSeconds: 60,
} as const;
