import { describe, expect, test } from 'vitest';
import {
  containerIdOf,
  holdsForRemoved,
  isShimOf,
} from '../../../../../src/providers/gvisor/disk/container-holders.ts';

const id = '2e254d76c14426922678249e5c26be722fe5f2d3b4e43f3dcd691d8afdd802ff';
const other = 'a19f073a55061d30610a206451010d6662226dff94bfa5f84aed2f3bc9d73876';

describe('containerIdOf', () => {
  test.each([
    ['both versions at once', `9:name=systemd:/docker/${id}\n4:memory:/docker/${id}\n0::/\n`],
    ['systemd', `0::/system.slice/docker-${id}.scope\n`],
    ['a group in the container', `0::/docker/${id}/init.scope\n`],
    ['a container in a container', `4:memory:/docker/${other}/docker/${id}\n`],
  ])('%s', (_, cgroups) => {
    expect(containerIdOf(cgroups)).toBe(id);
  });

  test.each([
    ['no container', '0::/user.slice/user-1000.slice/session-1.scope\n'],
    ['a longer name', `0::/docker/${id}0\n`],
    ['two at once', `4:memory:/docker/${id}\n5:cpu:/docker/${other}\n`],
    ['one that has ended', ''],
  ])('is none: %s', (_, cgroups) => {
    expect(containerIdOf(cgroups)).toBeUndefined();
  });
});

describe('holdsForRemoved', () => {
  const disk = (numbers: string, root = '/files'): string =>
    `185 184 ${numbers} ${root} /workspace rw,noatime - ext4 /dev/loop7 rw,discard\n`;
  const hostname = (container: string, deleted = '//deleted'): string =>
    `189 184 254:0 /var/lib/docker/containers/${container}/hostname${deleted} /etc/hostname rw - ext4 /dev/vda rw\n`;
  const rest = '184 167 0:48 / / rw,relatime master:4 - overlay overlay rw,lowerdir=/l\n';

  test('the disk, and what was made for the container is deleted', () => {
    const mounts = rest + disk('7:7') + hostname(id);
    expect(holdsForRemoved(mounts, id, ['7:6', '7:7'])).toBe(true);
  });

  test.each([
    ['another disk', disk('7:70') + hostname(id)],
    ['no disk', hostname(id)],
    ['the whole disk, as a server in a container sees it', disk('7:7', '/') + hostname(id)],
    ['of a container that is there', disk('7:7') + hostname(id, '')],
    ['what is deleted is of another container', disk('7:7') + hostname(other)],
    ['nothing was made for it', disk('7:7')],
    ['nothing can be seen', ''],
  ])('not: %s', (_, mounts) => {
    expect(holdsForRemoved(rest + mounts, id, ['7:7'])).toBe(false);
  });

  test('not a disk that no device holds any more', () => {
    expect(holdsForRemoved(disk('7:7') + hostname(id), id, [])).toBe(false);
  });
});

describe('isShimOf', () => {
  const argv = (...parts: string[]): string => parts.map((part) => `${part}\0`).join('');
  const shim = '/usr/bin/containerd-shim-runc-v2';

  test('the one that names just this container', () => {
    expect(isShimOf(argv(shim, '-namespace', 'moby', '-id', id, '-address', 'x'), id)).toBe(true);
  });

  test.each([
    ['of another container', argv(shim, '-namespace', 'moby', '-id', other)],
    ['of none', argv(shim, '-namespace', 'moby')],
    ['another program', argv('/usr/bin/containerd', '-id', id)],
    ['one that has ended', ''],
  ])('not: %s', (_, commandLine) => {
    expect(isShimOf(commandLine, id)).toBe(false);
  });
});
