import { constants } from 'node:fs';
import { access, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

import type { Finding } from './check.ts';

/** Which control groups the kernel gives us, and whether a sandbox can be frozen while nothing runs in it. */
export async function lookAtCgroups(root = '/sys/fs/cgroup'): Promise<Finding> {
  const version = (await exists(join(root, 'cgroup.controllers'))) ? 2 : 1;
  if (version === 1 && !(await exists(join(root, 'memory')))) {
    return {
      state: 'broken',
      reason: `no control groups are mounted at ${root}`,
      remedy: 'mount them (any init system does)',
    };
  }
  const freezer = version === 2 ? await hasFreezerV2(root) : await exists(join(root, 'freezer'));
  const writable = await access(root, constants.W_OK).then(
    () => true,
    () => false,
  );
  const details = { version, freezer, writable };
  if (freezer) return { state: 'ok', reason: `version ${String(version)}, with freezer`, details };
  return {
    state: 'reduced',
    reason: `version ${String(version)}, without freezer: idle workspaces keep using some CPU`,
    remedy: version === 2 ? 'a kernel from 5.2' : 'mount the freezer controller',
    details,
  };
}

/** The root group has no `cgroup.freeze`; any child shows whether the kernel knows it. */
async function hasFreezerV2(root: string): Promise<boolean> {
  const entries = await readdir(root, { withFileTypes: true });
  const child = entries.find((entry) => entry.isDirectory());
  return child !== undefined && exists(join(root, child.name, 'cgroup.freeze'));
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
