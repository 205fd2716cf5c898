import { describe, expect, test } from 'vitest';
import { cgroupMounts, placesOf } from '../../../../src/providers/gvisor/stats/cgroup-mounts.ts';

const id = '3e1cb27a4d28';

/** As kernels write them, cut to what matters. */
const version1 = [
  '30 25 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct',
  '31 25 0:27 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory',
  '32 25 0:28 / /sys/fs/cgroup/freezer rw,relatime - cgroup cgroup rw,freezer',
  '33 25 0:29 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw',
  '34 25 8:1 / / rw,relatime - ext4 /dev/sda1 rw',
].join('\n');
const version2 = '29 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate';

describe('the control groups of a container', () => {
  test('of version 1 lie in one hierarchy for each controller', () => {
    const text = `12:freezer:/docker/${id}\n4:memory:/docker/${id}\n2:cpu,cpuacct:/docker/${id}\n0::/\n`;
    expect(placesOf(text, id, cgroupMounts(version1))).toEqual({
      version: 1,
      cpu: `/sys/fs/cgroup/cpu,cpuacct/docker/${id}`,
      memory: `/sys/fs/cgroup/memory/docker/${id}`,
      freezer: `/sys/fs/cgroup/freezer/docker/${id}`,
    });
  });

  test('of version 2 are one', () => {
    const place = `/sys/fs/cgroup/system.slice/docker-${id}.scope`;
    const text = `0::/system.slice/docker-${id}.scope\n`;
    expect(placesOf(text, id, cgroupMounts(version2))).toEqual({
      ...{ version: 2, cpu: place, memory: place, freezer: place },
    });
  });

  test('below the group that a mount begins at', () => {
    const nested = version2.replace(' / /sys', ' /system.slice /sys');
    const text = `0::/system.slice/docker-${id}.scope`;
    expect(placesOf(text, id, cgroupMounts(nested))?.cpu).toBe(`/sys/fs/cgroup/docker-${id}.scope`);
  });

  test.each([
    ['of another process, as with an engine elsewhere', '0::/user.slice/session-1.scope'],
    ['outside of what is mounted here, as in a container', `0::/../docker-${id}.scope`],
    ['of no process', ''],
  ])('are not those %s', (_, text) => {
    expect(placesOf(text, id, cgroupMounts(version2))).toBeUndefined();
  });
});
