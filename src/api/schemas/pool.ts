import { z } from 'zod';
import { formatSize } from '../../domain/limits.ts';
import {
  defaultPoolName,
  largestPool,
  missReasons,
  poolNamePattern,
} from '../../domain/warm-pool.ts';
import type { PoolReport, PoolStatus } from '../../domain/warm-pool.ts';
import { networkModes } from '../../domain/workspace.ts';
import { text } from './text.ts';

const states = ['ready', 'filling', 'draining', 'off', 'blocked'] as const;

const pool = z
  .object({
    name: z.string(),
    size: z.int().describe('How many sandboxes should wait.'),
    ready: z.int().describe('How many can be handed out now.'),
    creating: z.int().describe('How many are being made.'),
    provider: z
      .string()
      .nullable()
      .describe('Where its sandboxes are made; null while no provider can.'),
    image: z.string(),
    resource_limits: z.object({
      cpu: z.number().describe('Cores.'),
      memory: z.string().describe('Such as "4G"; bytes where no unit divides it.'),
      disk: z.string(),
    }),
    network: z.enum(networkModes),
    state: z
      .enum(states)
      .describe(
        'Ready: as large as it should be. Filling, draining: on the way there. Off: its size is 0. ' +
          'Blocked: it cannot be filled now; the reason says why.',
      ),
    reason: z.string().nullable(),
  })
  .meta({ id: 'WarmPool' });

const misses = Object.fromEntries(missReasons.map((reason) => [reason, z.int()])) as Record<
  (typeof missReasons)[number],
  z.ZodInt
>;

export const poolReport = z
  .object({
    pools: z
      .array(pool)
      .describe(
        'Sandboxes that wait, by what they are made like; a create that asks for the same gets one.',
      ),
    hits: z
      .record(z.string(), z.int())
      .describe('Creates on this server, since it started, that got a waiting sandbox, by pool.'),
    misses: z
      .object(misses)
      .describe(
        'Creates that got none. empty: all were taken. no_pool: no pool is like the request. provider: the pool ' +
          'that is like it is of another provider. dead: the one that waited did not live any more.',
      ),
  })
  .meta({ id: 'WarmPoolReport' });

export const resizePoolBody = z
  .strictObject({
    name: text(64)
      .regex(poolNamePattern, 'is not the name of a pool')
      .default(defaultPoolName)
      .describe('The pool; without it, the one for requests that leave everything to the server.'),
    size: z.int().min(0).max(largestPool).describe('How many sandboxes should wait; 0: none.'),
  })
  .meta({ id: 'ResizeWarmPool' });

export function presentPoolReport({ pools, counts }: PoolReport): z.output<typeof poolReport> {
  return { pools: pools.map(presentPool), hits: counts.hits, misses: counts.misses };
}

function presentPool(from: PoolStatus): z.output<typeof pool> {
  const { image, limits, network } = from.shape;
  return {
    name: from.name,
    size: from.size,
    ready: from.ready,
    creating: from.creating,
    provider: from.provider,
    image,
    resource_limits: {
      cpu: limits.cpu,
      memory: formatSize(limits.memoryBytes),
      disk: formatSize(limits.diskBytes),
    },
    network,
    state: from.state,
    reason: from.reason,
  };
}
