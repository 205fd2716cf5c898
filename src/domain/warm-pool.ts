import { createHash } from 'node:crypto';
import type { ResourceLimits } from './limits.ts';
import type { NetworkMode } from './workspace.ts';

/** What the sandboxes of a pool are made like; a request that wants the same can have one. */
export interface PoolShape {
  readonly image: string;
  readonly limits: ResourceLimits;
  readonly network: NetworkMode;
}

/** A pool as it was configured. */
export interface PoolDefinition extends PoolShape {
  readonly name: string;
  readonly size: number;
  /** A provider's name, or "auto": the one that an automatic choice would take. */
  readonly provider: string;
}

/** A pool as all servers on a database see it. */
export interface StoredPool {
  readonly definition: PoolDefinition;
  /** As it was last set, by the configuration or at run time. */
  readonly size: number;
  /** The version of the server that configured it: only servers of this version make its sandboxes. */
  readonly release: string;
}

/** The one for requests that leave everything to the server. */
export const defaultPoolName = 'default';

export const poolNamePattern = /^[a-z][a-z0-9-]{0,31}$/;
export const largestPool = 200;

/** Why a create did not get a sandbox that was waiting. */
export const missReasons = ['empty', 'no_pool', 'provider', 'dead'] as const;
export type MissReason = (typeof missReasons)[number];

/** One pool as people see it. */
export interface PoolStatus {
  readonly name: string;
  readonly size: number;
  /** Those that can be handed out now. */
  readonly ready: number;
  readonly creating: number;
  /** Where its sandboxes are made; null while no provider can. */
  readonly provider: string | null;
  readonly shape: PoolShape;
  /** `blocked`: it is smaller than it should be and cannot be filled now; `reason` says why. */
  readonly state: 'ready' | 'filling' | 'draining' | 'off' | 'blocked';
  readonly reason: string | null;
}

/** How often creates met the pools, on this server since it started. */
export interface PoolCounts {
  readonly hits: Readonly<Record<string, number>>;
  readonly misses: Readonly<Record<MissReason, number>>;
}

export interface PoolReport {
  readonly pools: readonly PoolStatus[];
  readonly counts: PoolCounts;
}

/**
 * Which requests a waiting sandbox serves: those for the same provider and shape, as long as sandboxes are still made
 * of the same things by the same version of the server.
 */
export function poolKeyOf(
  provider: string,
  { image, limits, network }: PoolShape,
  fingerprint: string,
  release: string,
): string {
  const { cpu, memoryBytes, diskBytes } = limits;
  const parts = [provider, image, cpu, memoryBytes, diskBytes, network, fingerprint, release];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}

/** In which respects a request wants something else than a pool has; none: they are alike. */
export function differences(pool: PoolShape, wanted: PoolShape): readonly string[] {
  return [
    ...(pool.image === wanted.image ? [] : ['image']),
    ...(pool.limits.cpu === wanted.limits.cpu ? [] : ['cpu']),
    ...(pool.limits.memoryBytes === wanted.limits.memoryBytes ? [] : ['memory']),
    ...(pool.limits.diskBytes === wanted.limits.diskBytes ? [] : ['disk']),
    ...(pool.network === wanted.network ? [] : ['network']),
  ];
}
