import type { Complaints } from './findings.ts';
import { networkName, takeInventory } from './inventory.ts';
import type { Premises } from './inventory.ts';
import { expectNothingLeft } from './premises-check.ts';
import { mend } from './settle.ts';
import type { SettleOptions } from './settle.ts';

export interface LastGoneOptions extends SettleOptions {
  readonly premises: Premises;
  readonly findings: Complaints<'leak' | 'stuck'>;
}

/**
 * When the last workspace is gone, so is everything after the server's next look. True: only after a restart of the
 * engine. One that was stopped while it was starting containers may count one on the network that it no longer has, and
 * does not let the network go before it counts anew, as it does when it starts.
 */
export async function expectAllGone(options: LastGoneOptions): Promise<boolean> {
  const { premises, findings } = options;
  await mend(options);
  const { network, containers } = await takeInventory(premises);
  const miscounted = network.includes(networkName) && containers.length === 0;
  if (miscounted) {
    await premises.restartEngine();
    await mend(options);
  }
  await expectNothingLeft(premises, findings);
  return miscounted;
}
