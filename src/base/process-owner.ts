import { readFile, readlink } from 'node:fs/promises';
import { HostProcess } from './host-process.ts';

/** On the containers and images by which a runtime is tried. */
export const trialLabel = 'dev.emergent.probe';
/** On what a probe makes on the engine: the process that is probing. */
export const ownerLabel = 'dev.emergent.owner';

/**
 * A name for this process that no other one has, has had or gets, on this host or another. Where the system does not
 * tell that much, one by which it is never thought gone.
 */
export async function thisOwner(): Promise<string> {
  const startedAt = HostProcess.of(process.pid)?.startTime;
  return [(await thisHost()) ?? 'unknown', String(process.pid), startedAt ?? '0'].join('-');
}

/** Whether the process is no more. False also for one that cannot be seen from here. `owner` may go on after it. */
export async function ownerIsGone(owner: string): Promise<boolean> {
  const [, host, pid, startedAt] = /^(\w+-\d+)-(\d+)-(\d+)(?:-|$)/.exec(owner) ?? [];
  if (host === undefined || host !== (await thisHost())) return false;
  return HostProcess.of(Number(pid))?.startTime !== startedAt;
}

/** This boot of this kernel, and the part of its processes that can be seen; undefined on other systems. */
async function thisHost(): Promise<string | undefined> {
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => undefined);
  const namespace = await readlink('/proc/self/ns/pid').catch(() => '');
  return boot && `${boot.slice(0, 8)}-${/\d+/.exec(namespace)?.[0] ?? '0'}`;
}
