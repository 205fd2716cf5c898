import { readFile } from 'node:fs/promises';

import { programOf } from '../processes.ts';

/** A pid file and the name of the program whose pid it holds. */
export interface PidFile {
  readonly path: string;
  readonly program: string;
}

/** Of the system's own engine. */
export const enginePidFile: PidFile = { path: '/var/run/docker.pid', program: 'dockerd' };

/** What a dockerd that starts without an init system looks at. */
export const enginePidFiles: readonly PidFile[] = [
  enginePidFile,
  { path: '/var/run/docker/containerd/containerd.pid', program: 'containerd' },
];

/**
 * Those whose process is gone. When its number meanwhile belongs to another program, dockerd takes that one for
 * itself and refuses to start, or takes it for its containerd and waits for it in vain.
 */
export async function stalePidFiles(files: readonly PidFile[]): Promise<readonly string[]> {
  const stale: string[] = [];
  for (const { path, program } of files) {
    const pid = (await readFile(path, 'utf8').catch(() => '')).trim();
    if (!/^\d+$/.test(pid)) continue;
    if ((await programOf(Number(pid))) !== program) stale.push(path);
  }
  return stale;
}
