import { withDeadline } from '../../base/deadline.ts';
import { reasonOf } from '../../base/reason.ts';
import type { Troubles } from '../../base/troubles.ts';
import type { Workspace } from '../../domain/workspace.ts';
import type { Providers } from '../providers.ts';

const listDeadlineMs = 20_000;

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
  const names = new Set(members.map(({ provider }) => provider));
  const listed = await Promise.all(
    [...names].map(async (name) => {
      const about = `warm sandboxes of ${name}`;
      try {
        const running = await runningOn(name, providers, signal);
        troubles.over(about, `the ${about} can be looked at again`);
        return running ? [[name, running] as const] : [];
      } catch (error) {
        signal.throwIfAborted();
        troubles.note(about, `the ${about} cannot be looked at`, reasonOf(error));
        return [];
      }
    }),
  );
  return new Map(listed.flat());
}

async function runningOn(
  name: string,
  providers: Providers,
  signal: AbortSignal,
): Promise<ReadonlySet<string> | undefined> {
  const provider = providers.names.includes(name) ? providers.get(name) : undefined;
  const list = provider?.list?.bind(provider);
  if (!list) return undefined;
  const found = await withDeadline(`listing ${name}`, listDeadlineMs, list, signal);
  return new Set(found.flatMap((each) => (each.state === 'running' ? [each.workspaceId] : [])));
}
