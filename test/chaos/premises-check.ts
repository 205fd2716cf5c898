import type { Complaints } from './findings.ts';
import { differences, takeInventory } from './inventory.ts';
import type { Inventory, Premises } from './inventory.ts';
import { lasting } from './lasting.ts';
import type { Complaint } from './lasting.ts';

/**
 * What the pool does meanwhile ends within it; and a container that starts anywhere on this machine holds, for a
 * moment, a copy of every mount, and with it a loop device that nobody else uses any more.
 */
const passingMs = 60_000;

/** Everything that was made for workspaces has its row, once, and every row has everything. */
export async function compareWithRows(
  premises: Premises,
  findings: Complaints<'leak'>,
  rows: () => Promise<readonly { readonly id: string }[]>,
): Promise<void> {
  const look = async (): Promise<readonly Complaint[]> => {
    const ids = new Set((await rows()).map(({ id }) => id));
    const { containers, volumes, disks, ...inventory } = await takeInventory(premises);
    const withDisk = new Set(inventory.withDisk);
    return [
      ...differences('container', ids, containers),
      ...differences('volume', ids, volumes),
      ...differences('disk', withDisk, disks.images),
      ...differences('mount', withDisk, disks.mounts),
      ...differences('loop device', withDisk, disks.devices),
    ];
  };
  addAll(findings, await lasting(look, passingMs));
}

/**
 * When the last workspace is gone, so is everything that was made for any. A helper whose engine was taken away from it
 * is left to the server's next sweep, so that has been by now.
 */
export async function expectNothingLeft(
  premises: Premises,
  findings: Complaints<'leak'>,
): Promise<void> {
  addAll(findings, leftOfWorkspaces(await takeInventory(premises)));
  addAll(
    findings,
    await lasting(async () => leftBesides(await takeInventory(premises)), passingMs),
  );
}

/** Gone with the answer to the destroy. */
function leftOfWorkspaces({ containers, volumes, disks }: Inventory): readonly Complaint[] {
  const parts = { container: containers, volume: volumes, disk: disks.images, mount: disks.mounts };
  return Object.entries(parts).flatMap(([what, ids]) => ofEach(what, ids));
}

/** Gone in a moment: loop devices with the last user of the disk, a helper when it has done its work. */
function leftBesides({ disks, network, helpers }: Inventory): readonly Complaint[] {
  const about = (subjects: readonly string[], complaint: string): readonly Complaint[] =>
    subjects.map((subject) => ({ subject, complaint }));
  return [
    ...ofEach('loop device', disks.devices),
    ...about(network, 'outlives the last workspace'),
    ...about(helpers, 'a helper is left'),
    ...about(disks.others, 'the disk of a probe is left'),
  ];
}

function ofEach(what: string, ids: readonly string[]): readonly Complaint[] {
  return ids.map((id) => ({ subject: `${what} of ${id}`, complaint: 'outlives its workspace' }));
}

function addAll(findings: Complaints<'leak'>, complaints: readonly Complaint[]): void {
  for (const { subject, complaint } of complaints) findings.add('leak', subject, complaint);
}
