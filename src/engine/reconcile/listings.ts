import { withDeadline } from '../../base/deadline.ts';
import { reasonOf } from '../../base/reason.ts';
import type { WorkspaceProvider } from '../../domain/provider.ts';
import type { Listing } from '../../domain/reconcile-plan.ts';
import type { Providers } from '../providers.ts';

const listDeadlineMs = 20_000;

/** Asks these providers at once for their sandboxes; one that fails or hangs holds no other back. */
export async function listSandboxes(
  providers: Providers,
  signal: AbortSignal,
  names: readonly string[] = providers.names,
): Promise<ReadonlyMap<string, Listing>> {
  const asked = names.map(
    async (name) => [name, await listingOf(providers.get(name), signal)] as const,
  );
  return new Map(await Promise.all(asked));
}

async function listingOf(provider: WorkspaceProvider, signal: AbortSignal): Promise<Listing> {
  const list = provider.list?.bind(provider);
  if (!list) return { state: 'cannot_list' };
  try {
    const what = `listing the sandboxes of ${provider.name}`;
    const found = await withDeadline(what, listDeadlineMs, list, signal);
    return { state: 'listed', found };
  } catch (error) {
    return { state: 'failed', reason: reasonOf(error) };
  }
}
