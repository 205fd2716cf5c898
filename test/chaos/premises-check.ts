import type { Complaints } from './findings.ts';
import { differences, takeInventory } from './inventory.ts';
import type { Inventory, Premises } from './inventory.ts';
import { until } from './until.ts';

const helperMs = 10_000;

/** Everything that was made for workspaces has its row, once, and every row has everything. */
export async function compareWithRows(
  premises: Premises,
  findings: Complaints<'leak'>,
  rows: readonly { readonly id: string }[],
): Promise<void> {
  const inventory = await takeInventory(premises);
  const { containers, volumes, disks } = inventory;
  const ids = new Set(rows.map(({ id }) => id));
  const withDisk = new Set(inventory.withDisk);
  for (const { subject, complaint } of [
    ...differences('container', ids, containers),
    ...differences('volume', ids, volumes),
    ...differences('disk', withDisk, disks.images),
    ...differences('mount', withDisk, disks.mounts),
    ...differences('loop device', withDisk, disks.devices),
  ]) {
    findings.add('leak', subject, complaint);
  }
}

/**
 * When the last workspace is gone, so is everything that was made for any. A helper whose engine was taken away from it
 * is left to the server's next sweep, so that has been by now.
 */
export async function expectNothingLeft(
  premises: Premises,
  findings: Complaints<'leak'>,
): Promise<void> {
  const inventory = await takeInventory(premises);
  const { containers, volumes, disks } = inventory;
  for (const [what, ids] of Object.entries({
    ...{ container: containers, volume: volumes },
    ...{ disk: disks.images, mount: disks.mounts, 'loop device': disks.devices },
  })) {
    for (const id of ids) findings.add('leak', `${what} of ${id}`, 'outlives its workspace');
  }
  for (const part of inventory.network) findings.add('leak', part, 'outlives the last workspace');
  await addHelpers(premises, findings, inventory);
}

/** One that does its work just now is gone in a moment. */
async function addHelpers(
  premises: Premises,
  findings: Complaints<'leak'>,
  { helpers, disks }: Inventory,
): Promise<void> {
  const left = new Set(helpers);
  if (left.size > 0) {
    await until(async () => {
      const now = new Set((await takeInventory(premises)).helpers);
      for (const helper of left) if (!now.has(helper)) left.delete(helper);
      return left.size === 0;
    }, helperMs);
  }
  for (const helper of left) findings.add('leak', helper, 'a helper is left');
  for (const probe of disks.others) findings.add('leak', probe, 'the disk of a probe is left');
}
