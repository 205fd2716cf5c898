import { readFile, readdir } from 'node:fs/promises';
import { systemCode } from '../../base/system-code.ts';

export interface GroupsUse {
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
  readonly processes: number;
}

/** What Linux counts in towards programs, whatever its own clock does. */
const ticksPerSecond = 100;

/** A process of the host; another one with the same number has another start. */
interface Member {
  readonly key: string;
  readonly ticks: number;
  readonly rssBytes: number;
}

/**
 * What the processes of one sandbox use, from /proc. The system forgets what a process has used when it ends, so CPU
 * time is summed up from look to look: what begins and ends between two of them is missing.
 */
export class ProcessUse {
  #ticks = 0;
  #seen = new Map<string, number>();

  /** Undefined on a system without /proc. */
  async look(groups: readonly number[]): Promise<GroupsUse | undefined> {
    const members = await membersOf(new Set(groups));
    if (!members) return undefined;
    for (const { key, ticks } of members) {
      this.#ticks += Math.max(0, ticks - (this.#seen.get(key) ?? 0));
    }
    this.#seen = new Map(members.map(({ key, ticks }) => [key, ticks]));
    return {
      cpuSeconds: this.#ticks / ticksPerSecond,
      memoryBytes: members.reduce((sum, { rssBytes }) => sum + rssBytes, 0),
      processes: members.length,
    };
  }
}

async function membersOf(groups: ReadonlySet<number>): Promise<readonly Member[] | undefined> {
  const names = await unlessGone(readdir('/proc'));
  if (!names) return undefined;
  const pids = names.filter((name) => /^\d+$/.test(name));
  return (await Promise.all(pids.map((pid) => memberOf(pid, groups)))).flat();
}

async function memberOf(pid: string, groups: ReadonlySet<number>): Promise<readonly Member[]> {
  const stat = await unlessGone(readFile(`/proc/${pid}/stat`, 'utf8'));
  // The name before it is in parentheses and may hold anything.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
  const [state, , group] = fields;
  if (!groups.has(Number(group)) || state === 'Z' || state === 'X') return [];
  const [user, system, started] = [fields[11], fields[12], fields[19]];
  const status = await unlessGone(readFile(`/proc/${pid}/status`, 'utf8'));
  const rssKilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(status ?? '')?.[1];
  return [
    {
      key: `${pid} ${started ?? ''}`,
      ticks: Number(user) + Number(system),
      rssBytes: Number(rssKilobytes ?? 0) * 1024,
    },
  ];
}

async function unlessGone<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes(systemCode(error))) return undefined;
    throw error;
  }
}
