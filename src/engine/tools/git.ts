import { posix } from 'node:path';
import { gitLimits } from '../../domain/git.ts';
import type { GitAction, GitHead, GitRequest, GitResult } from '../../domain/git.ts';
import type { CommandResult, Sandbox } from './command.ts';
import { parseHead, parseNumstat, parsePush, parseStatus } from './git/parse.ts';
import { git, tryGit } from './git/run.ts';
import type { GitCommand } from './git/run.ts';

/** A repository in a workspace, and the caller that waits for it. */
class Repository {
  readonly #sandbox: Sandbox;
  readonly #directory: string;
  readonly #signal: AbortSignal;

  constructor(sandbox: Sandbox, path: string, signal: AbortSignal) {
    this.#sandbox = sandbox;
    this.#directory = posix.resolve('/workspace', path);
    this.#signal = signal;
  }

  run(args: GitCommand['args'], rest: Omit<GitCommand, 'args'> = {}): Promise<CommandResult> {
    return git(this.#sandbox, { args, workdir: this.#directory, ...rest }, this.#signal);
  }

  async head(): Promise<GitHead> {
    return parseHead((await this.run(['rev-parse', 'HEAD', '--abbrev-ref', 'HEAD'])).stdout);
  }

  /** Null on a branch without commits. */
  async commitOrNone(): Promise<string | null> {
    const command = {
      args: ['rev-parse', '--verify', '--quiet', 'HEAD'],
      workdir: this.#directory,
    } as const;
    const { exitCode, stdout } = await tryGit(this.#sandbox, command, this.#signal);
    return exitCode === 0 ? stdout.toString('utf8').trim() : null;
  }

  /** Absolute paths are those of the workspace, which a repository may not know by that name. */
  paths(files: readonly string[]): string[] {
    return files.map((file) =>
      posix.isAbsolute(file) ? posix.relative(this.#directory, file) || '.' : file,
    );
  }
}

type ActionOf<Name extends GitAction['action']> = Extract<GitAction, { action: Name }>;

const actions: {
  readonly [Name in GitAction['action']]: (
    repository: Repository,
    action: ActionOf<Name>,
  ) => Promise<GitResult>;
} = { status, diff, commit, checkout, pull, push };

export async function runGit(
  sandbox: Sandbox,
  request: GitRequest,
  signal: AbortSignal,
): Promise<GitResult> {
  const run = actions[request.action] as (
    repository: Repository,
    action: GitAction,
  ) => Promise<GitResult>;
  return run(new Repository(sandbox, request.path, signal), request);
}

/** What the log of events says was done; messages and files are contents. */
export function gitSubject(request: GitRequest): string {
  const names = 'branch' in request ? [request.remote, request.branch] : [];
  const ref = 'ref' in request ? [request.ref] : [];
  return ['git', request.action, ...ref, ...names].filter((word) => word !== undefined).join(' ');
}

/** A changed name may be 4 KiB long, and one that came by a rename has two. */
const listBytes = gitLimits.files * 8 * 1024;

async function status(repository: Repository): Promise<GitResult> {
  const { stdout, stdoutCut } = await repository.run(
    ['status', '--porcelain=v2', '--branch', '--untracked-files=all', '-z'],
    { env: { GIT_OPTIONAL_LOCKS: '0' }, maxStdoutBytes: listBytes },
  );
  return { action: 'status', ...parseStatus(stdout, stdoutCut) };
}

async function diff(
  repository: Repository,
  { staged, ref, files }: ActionOf<'diff'>,
): Promise<GitResult> {
  const what = [
    ...(staged ? ['--cached'] : []),
    ...(ref === undefined ? [] : [ref]),
    '--',
    ...repository.paths(files),
  ];
  const plain = ['--no-color', '--no-ext-diff'];
  const env = { GIT_OPTIONAL_LOCKS: '0' };
  const [list, patch] = await Promise.all([
    repository.run(['diff', ...plain, '--numstat', '-z', ...what], {
      env,
      maxStdoutBytes: listBytes,
    }),
    repository.run(['diff', ...plain, ...what], { env, maxStdoutBytes: gitLimits.patchBytes }),
  ]);
  const changed = parseNumstat(list.stdout);
  return {
    action: 'diff',
    files: changed.slice(0, gitLimits.files),
    patch: patch.stdout.toString('utf8'),
    truncated: list.stdoutCut || patch.stdoutCut || changed.length > gitLimits.files,
  };
}

async function commit(
  repository: Repository,
  { message, all, files, author }: ActionOf<'commit'>,
): Promise<GitResult> {
  if (all) await repository.run(['add', '--all']);
  else if (files.length > 0) {
    await repository.run(['add', '--all', '--', ...repository.paths(files)]);
  }
  const identity = author && {
    GIT_AUTHOR_NAME: author.name,
    GIT_AUTHOR_EMAIL: author.email,
    GIT_COMMITTER_NAME: author.name,
    GIT_COMMITTER_EMAIL: author.email,
  };
  await repository.run(['commit', '--quiet', '--cleanup=whitespace', '--file=-'], {
    stdin: message,
    ...(identity && { env: identity }),
  });
  const numstat = ['diff-tree', '--root', '--no-commit-id', '--numstat', '-r', '-z'] as const;
  const [head, changed] = await Promise.all([
    repository.head(),
    repository.run([...numstat, 'HEAD'], { maxStdoutBytes: listBytes }),
  ]);
  return {
    action: 'commit',
    ...head,
    files: parseNumstat(changed.stdout).slice(0, gitLimits.files),
  };
}

async function checkout(
  repository: Repository,
  { ref, create, startPoint, files }: ActionOf<'checkout'>,
): Promise<GitResult> {
  const where = [
    ...(create ? ['-b'] : []),
    ...(ref === undefined ? [] : [ref]),
    ...(startPoint === undefined ? [] : [startPoint]),
  ];
  await repository.run(['checkout', '--quiet', ...where, '--', ...repository.paths(files)]);
  return { action: 'checkout', ...(await repository.head()) };
}

const pullOptions = {
  'ff-only': ['--ff-only'],
  rebase: ['--rebase'],
  merge: ['--no-rebase', '--ff'],
} as const;

async function pull(
  repository: Repository,
  { remote, branch, strategy }: ActionOf<'pull'>,
): Promise<GitResult> {
  const before = await repository.commitOrNone();
  const from = remote === undefined && branch === undefined ? [] : [remote ?? 'origin'];
  await repository.run(
    [
      ...(['pull', '--quiet', '--no-edit', ...pullOptions[strategy], '--'] as const),
      ...from,
      ...(branch === undefined ? [] : [branch]),
    ],
    { deadlineMs: gitLimits.remoteDeadlineMs },
  );
  const head = await repository.head();
  return { action: 'pull', before, updated: before !== head.commit, ...head };
}

async function push(
  repository: Repository,
  { remote, branch, setUpstream, force }: ActionOf<'push'>,
): Promise<GitResult> {
  const named = remote !== undefined || branch !== undefined || setUpstream;
  const { stdout } = await repository.run(
    [
      ...(['push', '--porcelain'] as const),
      ...(setUpstream ? ['--set-upstream'] : []),
      ...(force ? ['--force-with-lease'] : []),
      '--',
      ...(named ? [remote ?? 'origin', branch ?? 'HEAD'] : []),
    ],
    { deadlineMs: gitLimits.remoteDeadlineMs },
  );
  return { action: 'push', refs: parsePush(stdout) };
}
