import type { Clock } from '../../src/base/clock.ts';
import { describe, json } from '../chaos/api-client.ts';
import type { Row } from '../chaos/api-client.ts';
import type { Complaints } from '../chaos/findings.ts';
import { expectAllGone } from '../chaos/last-gone.ts';
import { allRows, giveUpPool, untilFull } from '../chaos/pool-check.ts';
import type { PoolCheckOptions } from '../chaos/pool-check.ts';
import { compareWithRows } from '../chaos/premises-check.ts';
import { settle } from '../chaos/settle.ts';

export interface ClosingOptions extends PoolCheckOptions {
  readonly size: number;
  readonly findings: Complaints<'dead' | 'failed' | 'leak' | 'stuck'>;
  readonly clock: Clock;
}

export interface Closed {
  /** How long the pool took to be full and alive when the clients had stopped; undefined: too long. */
  readonly backMs: number | undefined;
  /** How long it took to be gone when it was given up. */
  readonly drainedMs: number | undefined;
  /** The engine kept the network for a container that it no longer had, until it was restarted. */
  readonly miscounted: boolean;
}

/**
 * The closing check, when nobody works and nothing is broken any more: the pool is full of sandboxes that live,
 * everything has its row, and giving the pool up leaves nothing.
 */
export async function close(options: ClosingOptions): Promise<Closed> {
  const { api, premises, findings } = options;
  const backMs = await untilFull(options);
  await takeAll(options);
  await settle(options);
  await untilFull(options);
  await compareWithRows(premises, findings, () => allRows(api));

  for (const row of await api.rows()) findings.add('leak', row.id, `left, ${row.status}`);
  const drainedMs = await giveUpPool(options);
  const miscounted = await expectAllGone(options);
  return { backMs, drainedMs, miscounted };
}

/** All that the pool has at once: each must be one that waited, and work. */
async function takeAll({ api, pool, size, findings }: ClosingOptions): Promise<void> {
  const before = await pool.hits();
  const check = async (): Promise<void> => {
    const created = await api.send('POST', '');
    if (created.outcome !== 'acknowledged') {
      findings.add('failed', 'a create from the full pool', describe(created));
      return;
    }
    const { id } = json(created) as Row;
    const command = await api.send('POST', `/${id}/bash`, { command: 'echo alive' });
    const alive = command.outcome === 'acknowledged' && command.body.includes('alive');
    if (!alive) findings.add('dead', id, `from the full pool: ${describe(command)}`);
    const destroyed = await api.send('DELETE', `/${id}`);
    if (destroyed.outcome !== 'acknowledged') findings.add('failed', id, describe(destroyed));
  };
  await Promise.all(Array.from({ length: size }, check));
  const hits = (await pool.hits()) - before;
  if (hits >= size) return;
  const complaint = `${String(size)} creates got ${String(hits)} sandboxes that had waited`;
  findings.add('failed', 'the full pool', complaint);
}
