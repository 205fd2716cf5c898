import type { Clock } from '../../base/clock.ts';
import { reasonOf } from '../../base/reason.ts';
import type { WorkspaceStatsList } from '../http/api-types.ts';
import { isPassing } from './reconnect.ts';

/** What is known now: the last answer, and why there is no newer one. */
export interface TopView {
  readonly report: WorkspaceStatsList;
  readonly trouble: string | undefined;
}

export interface TopOptions {
  readonly read: (signal: AbortSignal) => Promise<WorkspaceStatsList>;
  readonly show: (view: TopView) => Promise<void>;
  readonly everyMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Shows what was read first, then reads and shows again until `signal` aborts. A server that goes away, as for a
 * restart, is waited for without end: somebody is looking.
 */
export async function keepShowing(first: WorkspaceStatsList, options: TopOptions): Promise<void> {
  const { read, show, everyMs, clock, signal } = options;
  let report = first;
  await show({ report, trouble: undefined });
  for (;;) {
    await clock.sleep(everyMs, signal);
    let trouble: string | undefined;
    try {
      report = await read(signal);
    } catch (error) {
      if (!isPassing(error)) throw error;
      trouble = reasonOf(error);
    }
    await show({ report, trouble });
  }
}
