import type { Clock } from '../../src/base/clock.ts';
import { json } from '../chaos/api-client.ts';
import type { ApiClient } from '../chaos/api-client.ts';
import type { Grounds } from '../chaos/grounds.ts';
import type { Journal } from './journal.ts';
import type { Outage } from './judge.ts';
import { until } from '../chaos/until.ts';

export interface OutageOptions {
  readonly engine: Grounds['engine'];
  readonly api: ApiClient;
  readonly journal: Journal;
  readonly clock: Clock;
  /** How long the engine stays away at least. */
  readonly lengthMs: number;
  /** What noticing and recovering may take before the run is given up. */
  readonly patienceMs: number;
}

export interface OutageSeen extends Outage {
  /** After the engine had stopped: when the providers route said so. */
  readonly unhealthyAfterMs: number;
  /** After the engine was back: the first create that worked. */
  readonly recoveredAfterMs: number;
}

/**
 * Stops the engine until its time is over, the providers route says that it is away and creates have been refused
 * meanwhile; then starts it again and waits until a create has worked.
 */
export async function breakEngine(options: OutageOptions): Promise<OutageSeen> {
  const { engine, api, clock, journal, lengthMs } = options;
  const stopBeganAt = clock.monotonic();
  await engine.stop();
  const stoppedAt = clock.monotonic();
  await wait(options, 'the providers route to turn unhealthy', () => isUnhealthy(api));
  const unhealthyAfterMs = clock.monotonic() - stoppedAt;
  const refused = (): boolean => journal.creates.some(({ sentAt }) => sentAt >= stoppedAt);
  await wait(options, 'creates to be refused', async () => refused());
  await clock.sleep(Math.max(0, stoppedAt + lengthMs - clock.monotonic()));

  const startBeganAt = clock.monotonic();
  await engine.start();
  const startedAt = clock.monotonic();
  const worked = (): number | undefined =>
    journal.creates.find(({ id, sentAt }) => id !== undefined && sentAt > startBeganAt)?.answeredAt;
  await wait(options, 'a create to work again', async () => worked() !== undefined);
  const recoveredAt = worked() ?? clock.monotonic();
  return {
    ...{ stopBeganAt, stoppedAt, startBeganAt, recoveredAt, unhealthyAfterMs },
    recoveredAfterMs: Math.max(0, recoveredAt - startedAt),
  };
}

async function isUnhealthy(api: ApiClient): Promise<boolean> {
  const reply = await api.send('GET', '/providers');
  if (reply.outcome !== 'acknowledged') return false;
  const { providers } = json(reply) as { providers: { name: string; status: string }[] };
  return providers.some(({ name, status }) => name === 'gvisor' && status === 'unhealthy');
}

async function wait(
  { patienceMs }: OutageOptions,
  what: string,
  isSo: () => Promise<boolean>,
): Promise<void> {
  if ((await until(isSo, patienceMs)) !== undefined) return;
  throw new Error(`waited ${String(patienceMs / 1000)} s for ${what}`);
}
