import type { Complaints } from './findings.ts';
import { differences, takeInventory } from './inventory.ts';
import type { Inventory, Premises } from './inventory.ts';

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
  addHelpers(findings, inventory);
}

/** When the last workspace is gone, so is everything that was made for any. */
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
  addHelpers(findings, inventory);
}

function addHelpers(findings: Complaints<'leak'>, { helpers, disks }: Inventory): void {
  for (const helper of helpers) findings.add('leak', helper, 'a helper is left');
  for (const probe of disks.others) findings.add('leak', probe, 'the disk of a probe is left');
}
