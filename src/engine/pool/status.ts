import type { PoolStatus, StoredPool } from '../../domain/warm-pool.ts';
import type { Workspace } from '../../domain/workspace.ts';
import type { Target } from './targets.ts';

/** One pool for people. `trouble`: why the last member could not be made. */
export function statusOf(
  { definition, size }: StoredPool,
  target: Target | undefined,
  members: readonly Workspace[],
  trouble: string | null,
): PoolStatus {
  const { name, image, limits, network } = definition;
  const waiting = members.filter(({ status }) => status === 'warm');
  const key = target?.key ?? null;
  const ready = waiting.filter(({ poolKey }) => key === null || poolKey === key).length;
  const creating = members.filter(({ status }) => status === 'creating').length;
  const counted = { name, size, ready, creating, provider: target?.provider ?? null };
  const shape = { image, limits, network };
  const reason = ready < size ? (target?.obstacle ?? trouble) : null;
  const state = stateOf(size, ready, members.length, reason);
  return { ...counted, shape, state, reason };
}

function stateOf(
  size: number,
  ready: number,
  members: number,
  obstacle: string | null,
): PoolStatus['state'] {
  if (size === 0) return members === 0 ? 'off' : 'draining';
  if (ready < size) return obstacle === null ? 'filling' : 'blocked';
  return members > size ? 'draining' : 'ready';
}
