import type { Workspace } from './workspace.ts';

/** What a pool should be now. */
export interface PoolTarget {
  readonly size: number;
  /** Of members that requests can have; null: that cannot be told now, so only those that are dead or too many go. */
  readonly key: string | null;
}

/** What is there of it. */
export interface PoolSurvey {
  /** Rows that are in the pool, oldest first. */
  readonly members: readonly Workspace[];
  /** Whether a member's sandbox runs; undefined: that cannot be told, so nothing is concluded from it. */
  readonly runs: (member: Workspace) => boolean | undefined;
}

export interface Retirement {
  readonly member: Workspace;
  readonly why: string;
}

export interface PoolPlan {
  /** How many to make. */
  readonly create: number;
  readonly retire: readonly Retirement[];
}

/** What to do about one pool. Two servers that see the same make the same plan: nothing is retired twice over. */
export function planPool({ size, key }: PoolTarget, { members, runs }: PoolSurvey): PoolPlan {
  const retire: Retirement[] = [];
  const good: Workspace[] = [];
  for (const member of members) {
    if (member.status !== 'warm') continue;
    const why = whyNot(member, size === 0 ? null : key, runs(member));
    if (why === undefined) good.push(member);
    else retire.push({ member, why });
  }
  const surplus = good.slice(0, Math.max(0, good.length - size));
  const why = `the pool has more than its ${String(size)}`;
  retire.push(...surplus.map((member) => ({ member, why })));
  if (key === null) return { create: 0, retire };
  const coming = members.filter(({ status, poolKey }) => status === 'creating' && poolKey === key);
  return { create: Math.max(0, size - good.length - coming.length), retire };
}

function whyNot(
  { poolKey }: Workspace,
  key: string | null,
  runs: boolean | undefined,
): string | undefined {
  if (runs === false) return 'its sandbox does not run any more';
  if (key !== null && poolKey !== key) return 'it is out of date: new ones are made differently';
  return undefined;
}
