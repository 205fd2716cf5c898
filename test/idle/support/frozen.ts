import { readFile, readdir } from 'node:fs/promises';
import type Docker from 'dockerode';
import { vi } from 'vitest';

/** The process of the host that is the kernel of the container's sandbox. */
export async function sentryOf(docker: Docker, container: string): Promise<number> {
  // The list, because the engine tells no more of a frozen container that somebody has tried to use.
  const listed = await docker.listContainers({ filters: { name: [container] } });
  const id = listed.find(({ Names }) => Names.includes(`/${container}`))?.Id;
  if (id === undefined) throw new Error(`no container ${container} runs`);
  for (const pid of await readdir('/proc')) {
    const words = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (words.startsWith('runsc-sandbox\0') && words.includes(id)) return Number(pid);
  }
  throw new Error(`no sandbox of ${container} runs`);
}

/** What the kernel says of a process, told without the code under test. */
async function isStopped(pid: number): Promise<boolean> {
  return /^State:\tT /m.test(await readFile(`/proc/${String(pid)}/status`, 'utf8'));
}

export async function isFrozen(docker: Docker, container: string): Promise<boolean> {
  return isStopped(await sentryOf(docker, container));
}

export async function untilFrozen(docker: Docker, container: string): Promise<void> {
  await untilStopped(await sentryOf(docker, container));
}

/** Gives up late: an agent that cannot answer on a loaded machine is asked again after ever longer pauses. */
export async function untilStopped(pid: number): Promise<void> {
  await vi.waitFor(
    async () => {
      if (!(await isStopped(pid))) throw new Error(`process ${String(pid)} is not stopped`);
    },
    { timeout: 60_000, interval: 20 },
  );
}
