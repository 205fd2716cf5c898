import { DeadlineError } from '../../base/deadline.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { Actor } from '../../domain/events.ts';
import { gitLimits } from '../../domain/git.ts';
import { repositoryProtocols } from '../../domain/repository.ts';
import type { RepositoryCredentials } from '../../domain/repository.ts';
import type { Workspace } from '../../domain/workspace.ts';
import type { Sandbox } from '../tools/command.ts';
import { parseHead } from '../tools/git/parse.ts';
import { git } from '../tools/git/run.ts';
import { CloneProgress } from './clone-progress.ts';
import type { CloneFigures } from './clone-progress.ts';
import type { LifecycleContext } from './context.ts';
import { ProgressEvents } from './progress-events.ts';
import type { Progress } from './progress-events.ts';
import { refOf } from './sandbox-specs.ts';

type Facts = Readonly<Record<string, unknown>>;

/**
 * Brings the workspace's repository into the empty /workspace of its sandbox, where the row names one. What git
 * refuses is `git_failed`. Answers with facts for the metadata.
 */
export async function cloneRepository(
  context: LifecycleContext,
  workspace: Workspace,
  by: Actor,
  signal: AbortSignal,
): Promise<Facts> {
  const { repositoryUrl: url, branch } = workspace;
  if (url === null) return {};
  const { providers, specs, clock, log } = context;
  const sandbox = { provider: providers.get(workspace.provider), ref: refOf(workspace) };
  const credentials = specs.repositoryCredentials(workspace);
  await tell(context, workspace, by);
  const startedAt = clock.monotonic();
  const which = branch === null ? [] : ['--branch', branch];
  const env = { ...(credentials && authorization(url, credentials)), ...onlySafeProtocols };
  const deadlineMs = gitLimits.cloneDeadlineMs;
  const events = new ProgressEvents(context, workspace, by);
  const progress = new CloneProgress(clock);
  const onStderr = (said: Uint8Array): void => {
    const figures = progress.push(said);
    if (figures) events.note(progressOf(workspace, figures));
  };
  try {
    await git(
      sandbox,
      { args: ['clone', '--progress', ...which, '--', url, '.'], env, deadlineMs, onStderr },
      signal,
    );
  } catch (error) {
    if (!(error instanceof DeadlineError)) throw error;
    throw new EmergentError('git_failed', error.message, { cause: error });
  } finally {
    await events.written();
  }
  const ms = Math.round(clock.monotonic() - startedAt);
  const head = await headOf(sandbox, signal);
  log.info('repository cloned', { workspace: workspace.id, url, ...head, ms });
  return { repository: { ...head, clone_ms: ms } };
}

/** An event of the same status: whoever follows the creation sees what takes so long. */
async function tell(context: LifecycleContext, workspace: Workspace, by: Actor): Promise<void> {
  const { id, status } = workspace;
  const detail = { step: 'cloning', ...namesOf(workspace) };
  const own = { from: [status], to: status, own: true, by, detail };
  if (await context.store.transition(id, own)) return;
  throw new EmergentError('wrong_state', `workspace ${id} was destroyed meanwhile`);
}

function progressOf(workspace: Workspace, { phase, percent }: CloneFigures): Progress {
  const names = namesOf(workspace);
  const message = `cloning ${String(names.repository_url)}: ${phase.toLowerCase()}, ${String(percent)} %`;
  return { step: 'cloning', message, detail: { ...names, phase, percent } };
}

function namesOf({ repositoryUrl, branch }: Workspace) {
  return { repository_url: repositoryUrl, branch };
}

/** Submodules and redirections cannot lead to protocols that run programs. */
const onlySafeProtocols = { GIT_ALLOW_PROTOCOL: repositoryProtocols.join(':') };

/**
 * For this host alone, and by the environment: neither the command line, which every process of the sandbox can
 * read, nor the clone's configuration holds it.
 */
function authorization(
  url: string,
  { user, password }: RepositoryCredentials,
): Record<string, string> {
  const basic = Buffer.from(`${user}:${password}`).toString('base64');
  return {
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: `http.${new URL(url).origin}/.extraHeader`,
    GIT_CONFIG_VALUE_0: `Authorization: Basic ${basic}`,
  };
}

/** An empty repository has no commit yet. */
async function headOf(sandbox: Sandbox, signal: AbortSignal): Promise<Facts> {
  const { stdout } = await git(
    sandbox,
    { args: ['for-each-ref', '--count=1', '--format=x', 'refs/'] },
    signal,
  );
  if (stdout.length === 0) return { commit: null, branch: null };
  const head = await git(sandbox, { args: ['rev-parse', 'HEAD', '--abbrev-ref', 'HEAD'] }, signal);
  return { ...parseHead(head.stdout) };
}
