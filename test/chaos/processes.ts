import { readFile } from 'node:fs/promises';
import { allPids } from '../../src/host/processes.ts';

/** Pids of processes that were started with this setting in their environment, asked of the kernel. */
export async function processesWith(setting: string): Promise<readonly string[]> {
  const found = await Promise.all(
    (await allPids()).map(async (process) => {
      const pid = String(process);
      // A process can end while it is looked at.
      const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
      return environment.split('\0').includes(setting) ? [pid] : [];
    }),
  );
  return found.flat();
}
