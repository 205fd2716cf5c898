import { Counter, Gauge, Registry } from 'prom-client';
import type { PoolReport, PoolStatus } from '../domain/warm-pool.ts';
import type { AttemptCount } from '../engine/engine.ts';

interface Figure {
  readonly name: string;
  readonly help: string;
  readonly of: (pool: PoolStatus) => number;
}

const figures: readonly Figure[] = [
  {
    name: 'emergent_warm_pool_size',
    help: 'Sandboxes that should wait.',
    of: ({ size }) => size,
  },
  {
    name: 'emergent_warm_pool_ready',
    help: 'Sandboxes that can be handed out now.',
    of: ({ ready }) => ready,
  },
  {
    name: 'emergent_warm_pool_creating',
    help: 'Sandboxes that are being made to wait.',
    of: ({ creating }) => creating,
  },
];

/** The warm pools, in the Prometheus text format; of its own registry each time, so that a pool that went has no line. */
export async function poolMetrics({ pools, counts }: PoolReport): Promise<string> {
  const registry = new Registry();
  const registers = [registry];
  for (const { name, help, of } of figures) {
    const gauge = new Gauge({ name, help, labelNames: ['pool'], registers });
    for (const pool of pools) gauge.set({ pool: pool.name }, of(pool));
  }
  const hits = new Counter({
    name: 'emergent_warm_pool_hits_total',
    help: 'Creates on this server that got a waiting sandbox.',
    labelNames: ['pool'],
    registers,
  });
  // A counter that is there from the beginning can be told from one that never counts.
  for (const { name } of pools) hits.inc({ pool: name }, 0);
  for (const [pool, count] of Object.entries(counts.hits)) hits.inc({ pool }, count);
  const misses = new Counter({
    name: 'emergent_warm_pool_misses_total',
    help: 'Creates on this server that got none, by the reason.',
    labelNames: ['reason'],
    registers,
  });
  for (const [reason, count] of Object.entries(counts.misses)) misses.inc({ reason }, count);
  return registry.metrics();
}

/** How often each provider was tried by a create, in the same format. */
export async function attemptMetrics(counts: readonly AttemptCount[]): Promise<string> {
  const registry = new Registry();
  const attempts = new Counter({
    name: 'emergent_create_attempts_total',
    help: 'How often a create on this server tried a provider, and what came of it.',
    labelNames: ['provider', 'result'],
    registers: [registry],
  });
  for (const { provider, result, count } of counts) attempts.inc({ provider, result }, count);
  return registry.metrics();
}
