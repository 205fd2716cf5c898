import { readFile, readlink } from 'node:fs/promises';
import { unlessMissing } from './host-files.ts';

/** On what a probe makes on the engine: the process that is probing. */
export const ownerLabel = 'dev.emergent.owner';

/** A name for this process that no other one has, has had or gets, on this host or another. */
export async function thisOwner(): Promise<string> {
  const startedAt = await startOf(process.pid);
  return [await thisHost(), String(process.pid), startedAt ?? '0'].join('-');
}

/** Whether the process is no more. False also for one that cannot be seen from here. `owner` may go on after it. */
export async function ownerIsGone(owner: string): Promise<boolean> {
  const [, host, pid, startedAt] = /^(\w+-\d+)-(\d+)-(\d+)(?:-|$)/.exec(owner) ?? [];
  if (host === undefined || host !== (await thisHost())) return false;
  return (await startOf(Number(pid))) !== startedAt;
}

/** This boot of this kernel, and the part of its processes that can be seen. */
async function thisHost(): Promise<string> {
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8');
  const namespace = /\d+/.exec(await readlink('/proc/self/ns/pid'))?.[0] ?? '0';
  return `${boot.slice(0, 8)}-${namespace}`;
}

/** In ticks since the host was booted; undefined where no such process is. */
async function startOf(pid: number): Promise<string | undefined> {
  const text = await unlessMissing(readFile(`/proc/${String(pid)}/stat`, 'utf8'));
  // The name, in parentheses, may hold anything; the start is the twentieth field after it.
  return text?.slice(text.lastIndexOf(')') + 2).split(' ')[19];
}
