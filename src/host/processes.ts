import { readdir, readFile } from 'node:fs/promises';

/** The name of the program that runs under this pid; empty when none does. */
export async function programOf(pid: number): Promise<string> {
  return (await readFile(`/proc/${String(pid)}/comm`, 'utf8').catch(() => '')).trim();
}

/** Of all processes that run now; none where the system does not tell. */
export async function allPids(): Promise<number[]> {
  const entries = await readdir('/proc').catch(() => []);
  return entries.map(Number).filter((pid) => Number.isInteger(pid));
}

export async function pidsNamed(program: string): Promise<number[]> {
  const found: number[] = [];
  for (const pid of await allPids()) {
    if ((await programOf(pid)) === program) found.push(pid);
  }
  return found;
}

export async function commandLine(pid: number): Promise<string[]> {
  const text = await readFile(`/proc/${String(pid)}/cmdline`, 'utf8').catch(() => '');
  return text.split('\0').filter((part) => part !== '');
}
