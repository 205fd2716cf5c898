import type { Troubles } from '../../base/troubles.ts';
import type { Workspace } from '../../domain/workspace.ts';
import type { Providers } from '../providers.ts';
import { listSandboxes } from '../reconcile/listings.ts';

/** Which sandboxes run, by provider; a provider that could not be listed is not in it. */
export type Running = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * Looks whether the sandboxes of these members run. They were waiting before they are looked for, so one that is not
 * found is dead, or somebody has it by now.
 */
export async function surveyMembers(
  members: readonly Workspace[],
  providers: Providers,
  troubles: Troubles,
  signal: AbortSignal,
): Promise<Running> {
  const used = new Set(members.map(({ provider }) => provider));
  const names = providers.names.filter((name) => used.has(name));
  const listings = await listSandboxes(providers, signal, names);
  signal.throwIfAborted();
  const running = new Map<string, ReadonlySet<string>>();
  for (const [name, listing] of listings) {
    const about = `warm sandboxes of ${name}`;
    if (listing.state === 'failed') {
      troubles.note(about, `the ${about} cannot be looked at`, listing.reason);
      continue;
    }
    troubles.over(about, `the ${about} can be looked at again`);
    if (listing.state === 'cannot_list') continue;
    const alive = listing.found.filter(({ state }) => state === 'running');
    running.set(name, new Set(alive.map(({ workspaceId }) => workspaceId)));
  }
  return running;
}
