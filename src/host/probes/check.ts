import { withDeadline } from '../../base/deadline.ts';
import { reasonOf } from '../../base/reason.ts';

/**
 * `ok`: works as it should. `reduced`: works, with less. `missing`: not here, which may be fine. `broken`: is
 * here and does not work.
 */
export type CheckState = 'ok' | 'reduced' | 'missing' | 'broken';

/** What one look at the host found. */
export interface Check {
  readonly id: CheckId;
  readonly title: string;
  readonly state: CheckState;
  readonly reason: string;
  /** What a person can do about it. */
  readonly remedy?: string;
  readonly details: Readonly<Record<string, unknown>>;
}

export const checkTitles = {
  docker: 'Docker engine',
  runsc: 'gVisor (runsc)',
  image: 'Workspace image',
  agent: 'Guest agent',
  kvm: 'KVM',
  microvm: 'microVM tools',
  reflink: 'Copy-on-write files',
  network: 'Workspace network',
  disk: 'Disk limits',
  cgroup: 'Control groups',
  database: 'Database',
  node: 'Node.js',
} as const;
export type CheckId = keyof typeof checkTitles;

export type Finding = Omit<Check, 'id' | 'title' | 'details'> & Partial<Pick<Check, 'details'>>;

/** Runs one look within its time; a look that throws or hangs is itself a finding. */
export async function check(
  id: CheckId,
  ms: number,
  look: (signal: AbortSignal) => Promise<Finding>,
  outer?: AbortSignal,
): Promise<Check> {
  const title = checkTitles[id];
  try {
    const finding = await withDeadline(`looking at ${title}`, ms, look, outer);
    return { id, title, details: {}, ...finding };
  } catch (error) {
    outer?.throwIfAborted();
    return { id, title, state: 'broken', reason: reasonOf(error), details: {} };
  }
}
