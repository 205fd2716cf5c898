import { z } from 'zod';
import { gitFileKinds, gitPullStrategies, gitPushStatuses } from '../../domain/git.ts';
import type { GitRequest, GitResult } from '../../domain/git.ts';
import { isRefName } from '../../domain/repository.ts';
import { filePath, text } from './text.ts';

const path = filePath
  .default('/workspace')
  .describe("The repository's directory; a relative one starts at /workspace.");

/** What would be taken for an option, or for several words, is never handed to git. */
const revision = text(255).regex(/^[^-\s\p{Cc}][^\s\p{Cc}]*$/u, 'is not a revision');
export const branchName = text(255).refine(isRefName, 'is not a name of a branch');
/** Names of remotes; a URL is one too, and may hold what must not be shown. */
const remote = text(255).regex(/^[\w][\w./-]*$/, 'is not a name of a remote');
const files = z.array(filePath).max(256).default([]);
const singleLine = text(255).regex(/^[^\p{Cc}<>]+$/u, 'must be one line without < and >');

const status = z.strictObject({ action: z.literal('status'), path }).meta({ id: 'GitStatus' });

const diff = z
  .strictObject({
    action: z.literal('diff'),
    path,
    staged: z.boolean().default(false).describe('What is staged, instead of what is not.'),
    ref: revision.optional().describe('A commit to compare with, or a range: "main..HEAD".'),
    files,
  })
  .meta({ id: 'GitDiff' });

const commit = z
  .strictObject({
    action: z.literal('commit'),
    path,
    message: text(64 * 1024),
    all: z.boolean().default(false).describe('Stage every change first, new files included.'),
    files: files.describe('Stage these first.'),
    author: z
      .strictObject({ name: singleLine, email: singleLine })
      .optional()
      .describe("Otherwise what the workspace's own git is configured with."),
  })
  .meta({ id: 'GitCommit' });

const checkout = z
  .strictObject({
    action: z.literal('checkout'),
    path,
    ref: revision.optional(),
    create: z.boolean().default(false).describe('Make the branch `ref`.'),
    start_point: revision.optional().describe('Where the new branch begins.'),
    files: files.describe('Bring back only these.'),
  })
  .refine((body) => body.ref !== undefined || body.files.length > 0, {
    path: ['ref'],
    error: 'is needed, unless files are named',
  })
  .refine((body) => !body.create || (body.ref !== undefined && body.files.length === 0), {
    path: ['create'],
    error: 'needs the name of the branch as ref, and no files',
  })
  .refine((body) => body.create || body.start_point === undefined, {
    path: ['start_point'],
    error: 'is for a branch that is created',
  })
  .meta({ id: 'GitCheckout' });

const pull = z
  .strictObject({
    action: z.literal('pull'),
    path,
    remote: remote.optional(),
    branch: branchName.optional(),
    strategy: z.enum(gitPullStrategies).default('ff-only'),
  })
  .meta({ id: 'GitPull' });

const push = z
  .strictObject({
    action: z.literal('push'),
    path,
    remote: remote.optional(),
    branch: branchName.optional(),
    set_upstream: z.boolean().default(false),
    force: z.boolean().default(false).describe('With a lease: never over what was not seen.'),
  })
  .meta({ id: 'GitPush' });

export const gitBody = z
  .discriminatedUnion('action', [status, diff, commit, checkout, pull, push], {
    error: 'expected an object whose action is status, diff, commit, checkout, pull or push',
  })
  .meta({ id: 'Git' });

const found = { path: z.string(), escaped: z.boolean() };
const head = {
  commit: z.string().nullable().describe('Null on a branch without commits.'),
  branch: z.string().nullable().describe('Null: no branch is checked out.'),
};
const changedFiles = z.array(
  z.object({
    ...found,
    added: z.int().nullable().describe('Lines; null for binary files.'),
    deleted: z.int().nullable(),
    from: z.string().optional().describe('Where it was before.'),
  }),
);

export const gitResult = z
  .discriminatedUnion('action', [
    z.object({
      action: z.literal('status'),
      ...head,
      upstream: z.string().nullable(),
      ahead: z.int(),
      behind: z.int(),
      clean: z.boolean(),
      files: z.array(
        z.object({
          ...found,
          kind: z.enum(gitFileKinds),
          index: z.string().describe("Git's letter, such as M; . where nothing changed."),
          worktree: z.string(),
          from: z.string().optional(),
        }),
      ),
      truncated: z.boolean(),
    }),
    z.object({
      action: z.literal('diff'),
      files: changedFiles,
      patch: z.string(),
      truncated: z.boolean(),
    }),
    z.object({ action: z.literal('commit'), ...head, files: changedFiles }),
    z.object({ action: z.literal('checkout'), ...head }),
    z.object({
      action: z.literal('pull'),
      ...head,
      before: z.string().nullable(),
      updated: z.boolean(),
    }),
    z.object({
      action: z.literal('push'),
      refs: z.array(
        z.object({
          status: z.enum(gitPushStatuses),
          from: z.string(),
          to: z.string(),
          summary: z.string(),
        }),
      ),
    }),
  ])
  .meta({ id: 'GitResult' });

export function toGitRequest(body: z.output<typeof gitBody>): GitRequest {
  switch (body.action) {
    case 'status':
      return body;
    case 'diff':
    case 'commit':
      return withoutUndefined(body);
    case 'checkout': {
      const { start_point: startPoint, ...rest } = body;
      return withoutUndefined({ ...rest, startPoint });
    }
    case 'pull':
      return withoutUndefined(body);
    case 'push': {
      const { set_upstream: setUpstream, ...rest } = body;
      return withoutUndefined({ ...rest, setUpstream });
    }
  }
}

type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> };

/** A field that was left out is absent. */
function withoutUndefined<T extends object>(fields: T): Defined<T> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as Defined<T>;
}

export function presentGit(result: GitResult): z.output<typeof gitResult> {
  switch (result.action) {
    case 'status':
    case 'diff':
    case 'commit':
      return { ...result, files: [...result.files] } as z.output<typeof gitResult>;
    case 'push':
      return { ...result, refs: [...result.refs] };
    case 'checkout':
    case 'pull':
      return result;
  }
}
