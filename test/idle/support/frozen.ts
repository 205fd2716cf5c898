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

/** What the kernel says, told without the code under test. */
export async function isFrozen(docker: Docker, container: string): Promise<boolean> {
  const status = await readFile(
    `/proc/${String(await sentryOf(docker, container))}/status`,
    'utf8',
  );
  return /^State:\tT /m.test(status);
}

export async function untilFrozen(docker: Docker, container: string): Promise<void> {
  const pid = await sentryOf(docker, container);
  await vi.waitFor(
    async () => {
      const status = await readFile(`/proc/${String(pid)}/status`, 'utf8');
      if (!/^State:\tT /m.test(status)) throw new Error(`${container} is not frozen`);
    },
    { timeout: 30_000, interval: 20 },
  );
}
