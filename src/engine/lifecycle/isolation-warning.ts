import type { CreatedSandbox } from '../../domain/provider.ts';
import { isSandbox } from '../../domain/selection.ts';
import type { Workspace } from '../../domain/workspace.ts';
import type { Failure } from './candidates.ts';
import type { LifecycleContext } from './context.ts';

/**
 * Says in the log and in the workspace's metadata that it runs where nothing but the host's own kernel keeps it
 * from the host, and why no sandbox was to be had. What has no isolation at all is the demo, and says so itself.
 */
export async function noteReducedIsolation(
  { providers, log }: Pick<LifecycleContext, 'providers' | 'log'>,
  workspace: Workspace,
  instead: readonly Failure[],
): Promise<CreatedSandbox['metadata']> {
  const { isolation } = await providers.get(workspace.provider).capabilities();
  if (isSandbox(isolation) || isolation === 'none') return {};
  const reasons = instead.map(({ name, reason }) => `${name}: ${reason}`).join('; ');
  const why = reasons === '' ? '' : ` (${reasons})`;
  const warning = `isolation is reduced: it runs in a plain container, which shares the host's kernel${why}`;
  log.warn(`security: ${warning}`, {
    workspace: workspace.id,
    provider: workspace.provider,
    isolation,
    instead_of: instead,
  });
  return { security_warning: warning };
}
