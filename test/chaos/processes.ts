import { readdir, readFile } from 'node:fs/promises';

/** Pids of processes that were started with this setting in their environment, asked of the kernel. */
export async function processesWith(setting: string): Promise<readonly string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      // A process can end while it is looked at.
      const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
      return environment.split('\0').includes(setting) ? [pid] : [];
    }),
  );
  return found.flat();
}
