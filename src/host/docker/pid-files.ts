import { readFile } from 'node:fs/promises';

/** A pid file and the name of the program whose pid it holds. */
export interface PidFile {
  readonly path: string;
  readonly program: string;
}

/** What a dockerd that starts without an init system looks at. */
export const enginePidFiles: readonly PidFile[] = [
  { path: '/var/run/docker.pid', program: 'dockerd' },
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
    const running = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
    if (running.trim() !== program) stale.push(path);
  }
  return stale;
}
