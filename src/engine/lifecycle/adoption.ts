import { withDeadline } from '../../base/deadline.ts';
import { reasonOf } from '../../base/reason.ts';
import type { Workspace } from '../../domain/workspace.ts';
import type { LifecycleContext } from './context.ts';
import { refOf } from './sandbox-specs.ts';

/** Hears how a sandbox that was waiting took its workspace. */
export interface Adoption {
  adopted(workspace: Workspace): void;
  dead(workspace: Workspace, why: string): void;
}

/** Providers give up sooner. */
const adoptDeadlineMs = 3_000;

const restDeadlineMs = 20_000;

/** Has a sandbox of a pool wait for whoever adopts it. */
export async function rest(
  { providers }: Pick<LifecycleContext, 'providers'>,
  member: Workspace,
  signal: AbortSignal,
): Promise<void> {
  const { name, warm } = providers.get(member.provider);
  const what = `putting a warm sandbox on ${name} to rest`;
  const ref = refOf(member);
  await withDeadline(what, restDeadlineMs, async (inner) => warm?.rest(ref, inner), signal);
}

/** True: the sandbox that waited is the workspace's now. False: it is dead, and another must be made in its place. */
export async function adopt(
  { providers, specs }: Pick<LifecycleContext, 'providers' | 'specs'>,
  workspace: Workspace,
  adoption: Adoption,
  signal: AbortSignal,
): Promise<boolean> {
  const { name, warm } = providers.get(workspace.provider);
  if (!warm) return false;
  const spec = specs.of(workspace);
  try {
    await withDeadline(
      `adopting a warm sandbox on ${name}`,
      adoptDeadlineMs,
      (inner) => warm.adopt(refOf(workspace), spec, inner),
      signal,
    );
  } catch (error) {
    signal.throwIfAborted();
    adoption.dead(workspace, reasonOf(error));
    return false;
  }
  adoption.adopted(workspace);
  return true;
}
