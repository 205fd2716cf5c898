import { basename } from 'node:path';
import { filesName } from './loop-disks.ts';
import { mountEntries } from './mounts.ts';

/**
 * The container that a process of the host belongs to, from its /proc/<pid>/cgroup; undefined for one that is in none.
 * Where containers run in a container, it is the innermost.
 */
export function containerIdOf(cgroups: string): string | undefined {
  const innermost = cgroups
    .split('\n')
    .flatMap((line) => line.match(/(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])/g)?.at(-1) ?? []);
  const [id, ...others] = new Set(innermost);
  return others.length === 0 ? id : undefined;
}

/**
 * Whether a process, by its mountinfo, holds the files of a workspace for a container that was removed.
 *
 * A server that itself runs in a container sees the disk as well, but whole; a container sees the directory with the
 * files. And what its engine made for it, the hostname and such, is deleted only with the container: one that any
 * engine of this host still knows has it.
 */
export function holdsForRemoved(
  mountinfo: string,
  containerId: string,
  diskNumbers: readonly string[],
): boolean {
  const mounts = mountEntries(mountinfo);
  const holds = mounts.some(
    ({ numbers, root }) => root === `/${filesName}` && diskNumbers.includes(numbers),
  );
  const wasRemoved = mounts.some(
    ({ root }) => root.includes(`/containers/${containerId}/`) && root.endsWith('//deleted'),
  );
  return holds && wasRemoved;
}

/** Whether this is the command line of the process by which containerd looks after just this container. */
export function isShimOf(commandLine: string, containerId: string): boolean {
  const argv = commandLine.split('\0');
  const named = basename(argv[0] ?? '').startsWith('containerd-shim');
  return named && argv[argv.indexOf('-id') + 1] === containerId;
}
