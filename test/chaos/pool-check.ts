import type { ApiClient, Row } from './api-client.ts';
import type { Complaints } from './findings.ts';
import { differences, takeInventory } from './inventory.ts';
import type { Premises } from './inventory.ts';
import type { Pool } from './pool.ts';
import { until } from './until.ts';

export interface PoolCheckOptions {
  readonly api: ApiClient;
  readonly pool: Pool;
  readonly premises: Premises;
  readonly findings: Complaints<'stuck'>;
  /** What the pool may take to reach another size. */
  readonly convergeMs: number;
}

/**
 * How long it took, in milliseconds, until the pool was at its size, all in it lived, and what was to go was gone;
 * undefined: too long.
 */
export async function untilFull(options: PoolCheckOptions): Promise<number | undefined> {
  const { api, pool, findings, convergeMs } = options;
  const isFull = async (): Promise<boolean> =>
    (await pool.isFull()) && (await allLive(options)) && (await nothingElse(options));
  const passed = await until(isFull, convergeMs);
  if (passed !== undefined) return passed;
  const { ready, creating, size, reason } = await pool.state();
  const waiting = (await api.rows('warm')).map(({ id }) => id).join(', ');
  const found = `${String(ready)} of ${String(size)} ready, ${String(creating)} being made`;
  const after = `after ${String(convergeMs / 1000)} s`;
  findings.add('stuck', 'the pool', `${after} ${found} (${reason ?? 'no reason'}): ${waiting}`);
  return undefined;
}

/** The same until nothing of it was left, when it is given up. Other workspaces must be gone before. */
export async function giveUpPool(options: PoolCheckOptions): Promise<number | undefined> {
  const { api, pool, premises, findings, convergeMs } = options;
  await pool.resize(0);
  const isGone = async (): Promise<boolean> => {
    const { ready, creating } = await pool.state();
    if (ready + creating > 0 || (await api.rows('warm')).length > 0) return false;
    const { containers, volumes } = await takeInventory(premises);
    return containers.length + volumes.length === 0;
  };
  const passed = await until(isGone, convergeMs);
  if (passed === undefined) {
    const after = `after ${String(convergeMs / 1000)} s`;
    findings.add('stuck', 'the pool', `${after} some of it is left, though its size is 0`);
  }
  return passed;
}

/** Those of callers, and those that wait. */
export async function allRows(api: ApiClient): Promise<readonly Row[]> {
  return [...(await api.rows()), ...(await api.rows('warm'))];
}

/** Of those that wait, by the word of the engine. */
async function allLive({ api, premises }: PoolCheckOptions): Promise<boolean> {
  const { running } = await takeInventory(premises);
  return (await api.rows('warm')).every(({ id }) => running.includes(id));
}

/** Those on their way out are in no list. */
async function nothingElse({ api, premises }: PoolCheckOptions): Promise<boolean> {
  const { containers } = await takeInventory(premises);
  const ids = new Set((await allRows(api)).map(({ id }) => id));
  return differences('container', ids, containers).length === 0;
}
