import type Docker from 'dockerode';
import { withDeadline } from '../../src/base/deadline.ts';

/** The label that names a workspace on everything that was made for it. */
const workspaceLabel = 'dev.emergent.workspace';
const engineMs = 30_000;

export interface Inventory {
  /** Workspace ids, one for each container. */
  readonly containers: readonly string[];
  /** Workspace ids, one for each volume. */
  readonly volumes: readonly string[];
  /** Containers that belong to no workspace: helpers, which must be gone when nothing runs. */
  readonly helpers: readonly string[];
}

/** What is on the engine, asked of the engine itself. */
export async function takeInventory(docker: Docker): Promise<Inventory> {
  return withDeadline('listing what is on the engine', engineMs, async () => {
    const containers = await docker.listContainers({ all: true });
    const { Volumes: volumes } = await docker.listVolumes();
    const owner = (labels: Readonly<Record<string, string>> | null): string | undefined =>
      labels?.[workspaceLabel];
    return {
      containers: containers.flatMap(({ Labels: labels }) => owner(labels) ?? []),
      volumes: volumes.flatMap(({ Labels: labels }) => owner(labels) ?? []),
      helpers: containers
        .filter(({ Labels: labels }) => owner(labels) === undefined)
        .map(({ Names: [name = ''], Labels: labels }) => `${name} ${JSON.stringify(labels)}`),
    };
  });
}

/** Every difference between rows and one kind of thing, as a sentence for the thing it is about. */
export function differences(
  what: string,
  rows: ReadonlySet<string>,
  owners: readonly string[],
): { readonly subject: string; readonly complaint: string }[] {
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
