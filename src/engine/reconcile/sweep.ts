import { withDeadline } from '../../base/deadline.ts';
import type { Log } from '../../base/log.ts';
import type { Troubles } from '../../base/troubles.ts';
import type { WorkspaceProvider } from '../../domain/provider.ts';
import type { ReconcileReport } from '../../domain/reconcile.ts';

const sweepDeadlineMs = 30_000;

export interface SweepOptions {
  readonly dryRun: boolean;
  /** As somebody has asked for; undefined: the provider's own. */
  readonly minAgeMs?: number;
  readonly log: Log;
  readonly troubles: Troubles;
  readonly signal: AbortSignal;
}

/** Shared things of one provider that nobody uses. A failure goes to the log and leaves them for later. */
export async function sweep(
  provider: WorkspaceProvider,
  { dryRun, minAgeMs, log, troubles, signal }: SweepOptions,
): Promise<ReconcileReport['leftovers']> {
  if (!provider.sweep || signal.aborted) return [];
  const what = `sweeping ${provider.name}`;
  try {
    const work = provider.sweep.bind(provider, dryRun);
    const leftovers = await withDeadline(
      what,
      sweepDeadlineMs,
      (inner) => work(inner, minAgeMs),
      signal,
    );
    troubles.over(what, `${what} works again`);
    return leftovers.map(({ name, why }) => {
      if (!dryRun) log.info('removed a leftover', { provider: provider.name, name, why });
      return { provider: provider.name, name, why };
    });
  } catch (error) {
    troubles.note(what, `${what} failed`, error);
    return [];
  }
}
