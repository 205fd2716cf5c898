import { withRenewedDeadline } from '../../base/deadline.ts';
import type { Actor } from '../../domain/events.ts';
import type { CreatedSandbox, StartProgress } from '../../domain/provider.ts';
import type { Workspace } from '../../domain/workspace.ts';
import type { LifecycleContext } from './context.ts';
import { ProgressEvents } from './progress-events.ts';

const startDeadlineMs = 60_000;
/** After a sign of progress. Providers give up sooner on what they tell of, and know better what is wrong with it. */
const progressDeadlineMs = 90_000;

/** Who starts which sandbox. */
export interface Start {
  readonly workspace: Workspace;
  readonly by: Actor;
  /** For messages: "creating a workspace on gvisor". */
  readonly what: string;
}

/**
 * Runs the start of a sandbox under a deadline that begins anew with each sign of progress. What takes long is
 * told by events of the same status, all of which are written when this ends.
 */
export async function startSandbox(
  context: LifecycleContext,
  { workspace, by, what }: Start,
  signal: AbortSignal,
  start: (
    signal: AbortSignal,
    onProgress: (progress: StartProgress) => void,
  ) => Promise<CreatedSandbox>,
): Promise<CreatedSandbox> {
  const events = new ProgressEvents(context, workspace, by);
  try {
    return await withRenewedDeadline(
      what,
      startDeadlineMs,
      (inner, renew) =>
        start(inner, (progress) => {
          renew(progressDeadlineMs);
          if (!inner.aborted) events.note(progress);
        }),
      signal,
    );
  } finally {
    await events.written();
  }
}
