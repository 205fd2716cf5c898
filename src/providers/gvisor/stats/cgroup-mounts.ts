import { join, relative } from 'node:path';

/** Where control groups of one kind are to be seen on this host. */
export interface CgroupMount {
  readonly version: 1 | 2;
  /** Of version 1: those that this hierarchy is for. */
  readonly controllers: readonly string[];
  /** The group that is seen at `point`. */
  readonly root: string;
  readonly point: string;
}

/** From /proc/self/mountinfo: "… root point options - type source options-of-the-file-system". */
export function cgroupMounts(mountinfo: string): readonly CgroupMount[] {
  return mountinfo.split('\n').flatMap((line): CgroupMount[] => {
    const [left = '', right = ''] = line.split(' - ');
    const [, , , root, point] = left.split(' ');
    const [type, , options = ''] = right.split(' ');
    if (root === undefined || point === undefined) return [];
    if (type === 'cgroup2') return [{ version: 2, controllers: [], root, point }];
    if (type !== 'cgroup') return [];
    return [{ version: 1, controllers: options.split(','), root, point }];
  });
}

/** Directories of one process's group, by what they control. */
export interface CgroupPlaces {
  readonly version: 1 | 2;
  readonly cpu: string | undefined;
  readonly memory: string | undefined;
  readonly freezer: string | undefined;
}

/**
 * Where the groups of a process are, from its /proc/<pid>/cgroup ("number:controllers:path" a line). Undefined where
 * it is not in the container's own group: then the number is that of another process, as with an engine on another
 * host.
 */
export function placesOf(
  text: string,
  containerId: string,
  mounts: readonly CgroupMount[],
): CgroupPlaces | undefined {
  const groups = text.split('\n').flatMap((line) => {
    const match = /^\d+:([^:]*):(.*)$/.exec(line);
    const path = match?.[2];
    if (path?.includes(containerId) !== true) return [];
    return [{ controllers: (match?.[1] ?? '').split(','), path }];
  });
  if (groups.length === 0) return undefined;
  const ofController = (name: string): string | undefined => {
    const group = groups.find(({ controllers }) => controllers.includes(name));
    const mount = mounts.find(({ controllers }) => controllers.includes(name));
    return group && mount && placeIn(mount, group.path);
  };
  const cpu = ofController('cpuacct');
  if (cpu !== undefined) {
    return { version: 1, cpu, memory: ofController('memory'), freezer: ofController('freezer') };
  }
  const mount = mounts.find(({ version }) => version === 2);
  const group = groups.find(({ controllers }) => controllers[0] === '');
  const place = group && mount && placeIn(mount, group.path);
  return place === undefined
    ? undefined
    : { version: 2, cpu: place, memory: place, freezer: place };
}

/** Undefined where the group lies outside of what the mount shows, as in a container. */
function placeIn({ root, point }: CgroupMount, path: string): string | undefined {
  // What is above the root of our own namespace.
  if (path.startsWith('/../')) return undefined;
  const below = relative(root, path);
  return below.startsWith('..') ? undefined : join(point, below);
}
