import { readFileSync, readdirSync } from 'node:fs';
import type { ProcessSignal } from '../../domain/exec.ts';
import { systemCode } from '../../base/system-code.ts';

/** False when the group has no members left. */
export function signalGroup(group: number, signal: ProcessSignal | 'SIGCONT' | 0): boolean {
  try {
    process.kill(-group, signal);
    return true;
  } catch (error) {
    if (systemCode(error) === 'ESRCH') return false;
    throw error;
  }
}

/** Whether a member still runs. One that has ended and that nobody has reaped yet does not. */
export function groupRuns(group: number): boolean {
  if (!signalGroup(group, 0)) return false;
  const pids = pidsOfHost();
  // A system without /proc says only whether there are members.
  return pids.length === 0 || pids.some((pid) => runsIn(pid, group));
}

function pidsOfHost(): readonly string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  }
}

function runsIn(pid: string, group: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name before it is in parentheses and may hold anything.
    const [state, , ofGroup] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return Number(ofGroup) === group && state !== 'Z' && state !== 'X';
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes(systemCode(error))) return false;
    throw error;
  }
}
