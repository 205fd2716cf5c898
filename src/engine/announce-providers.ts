import type { Log } from '../base/log.ts';
import { untilAborted } from '../base/until-aborted.ts';
import type { WorkspaceOperations } from './engine.ts';

/**
 * Says in the log what can run workspaces, and what cannot and why. Whoever asks first also has a provider try what
 * it has not tried yet, so that the first workspace does not wait for it.
 */
export async function announceProviders(
  workspaces: Pick<WorkspaceOperations, 'providerStatuses'>,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  try {
    const statuses = await untilAborted(workspaces.providerStatuses(), signal);
    for (const { name, health } of statuses) {
      const about = { provider: name, ...health };
      if (health.state === 'healthy') log.info('a provider can run workspaces', about);
      else if (health.state === 'unhealthy') log.warn('a provider cannot run workspaces', about);
    }
  } catch (error) {
    if (!signal.aborted)
      log.warn('the providers could not be asked for their health', { err: error });
  }
}
