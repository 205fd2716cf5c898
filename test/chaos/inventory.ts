import type Docker from 'dockerode';
import { withDeadline } from '../../src/base/deadline.ts';
import { hostDisks } from './host-disks.ts';
import type { HostDisks } from './host-disks.ts';
import type { Complaint } from './lasting.ts';

/** The label that names a workspace on everything that was made for it. */
const workspaceLabel = 'dev.emergent.workspace';
const diskModeLabel = 'dev.emergent.disk-mode';
export const networkName = 'emergent-nat';
const engineMs = 30_000;

/** Where to look. */
export interface Premises {
  readonly docker: Docker;
  /** The directory with the disks of the server under test. */
  readonly diskDir: string;
  /** The rules on the engine's host that the server has set. */
  readonly rules: () => Promise<readonly string[]>;
  readonly restartEngine: () => Promise<void>;
}

export interface Inventory {
  /** Workspace ids, one for each container. */
  readonly containers: readonly string[];
  /** Those of them that run. */
  readonly running: readonly string[];
  /** Workspace ids, one for each volume. */
  readonly volumes: readonly string[];
  /** Those of them whose files are on a disk of their own. */
  readonly withDisk: readonly string[];
  readonly disks: HostDisks;
  /** The workspace network and the host's rules for it, which must be gone when no workspace needs them. */
  readonly network: readonly string[];
  /** Containers that belong to no workspace and images without a name: they must be gone when nothing runs. */
  readonly helpers: readonly string[];
}

/** What is on the engine and its host, asked of these themselves. */
export async function takeInventory({ docker, diskDir, rules }: Premises): Promise<Inventory> {
  return withDeadline('listing what is on the engine', engineMs, async () => {
    const containers = await docker.listContainers({ all: true });
    const { Volumes: volumes } = await docker.listVolumes();
    const networks = (await docker.listNetworks()).map(({ Name: name }) => name);
    const owner = (labels: Readonly<Record<string, string>> | null): string | undefined =>
      labels?.[workspaceLabel];
    return {
      containers: containers.flatMap(({ Labels: labels }) => owner(labels) ?? []),
      running: containers.flatMap(({ Labels: labels, State: state }) =>
        state === 'running' ? (owner(labels) ?? []) : [],
      ),
      volumes: volumes.flatMap(({ Labels: labels }) => owner(labels) ?? []),
      withDisk: volumes.flatMap(({ Labels: labels }) =>
        labels[diskModeLabel] === 'loop' ? (owner(labels) ?? []) : [],
      ),
      disks: await hostDisks(diskDir),
      network: [...networks.filter((name) => name === networkName), ...(await rules())],
      helpers: [
        ...containers
          .filter(({ Labels: labels }) => owner(labels) === undefined)
          .map(({ Names: [name = ''], Labels: labels }) => `${name} ${JSON.stringify(labels)}`),
        ...(await docker.listImages({ filters: { dangling: ['true'] } })).map(
          ({ Id: id, Size: size }) => `image ${id} of ${String(size)} bytes`,
        ),
      ],
    };
  });
}

/** Every difference between rows and one kind of thing, as a sentence for the thing it is about. */
export function differences(
  what: string,
  rows: ReadonlySet<string>,
  owners: readonly string[],
): Complaint[] {
  const counts = Map.groupBy(owners, (id) => id);
  const extra = [...counts].flatMap(([id, all]) => {
    const subject = `${what} of ${id}`;
    if (!rows.has(id)) return [{ subject, complaint: 'is there, and no workspace is' }];
    if (all.length > 1) return [{ subject, complaint: `is there ${String(all.length)} times` }];
    return [];
  });
  const missing = [...rows]
    .filter((id) => !counts.has(id))
    .map((id) => ({
      subject: `${what} of ${id}`,
      complaint: 'is missing, and its workspace is there',
    }));
  return [...extra, ...missing];
}
