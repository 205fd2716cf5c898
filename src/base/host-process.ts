import { readFileSync } from 'node:fs';
import { systemCode } from './system-code.ts';

export type HostProcessState = 'running' | 'stopped' | 'gone';

/**
 * One process of this host, and never a later one of the same number. All of it is synchronous: it takes microseconds,
 * and nothing can come between looking at a process and telling it something.
 */
export class HostProcess {
  readonly pid: number;
  readonly parent: number;
  /** In ticks since the host was booted. */
  readonly startTime: string;

  private constructor(pid: number, { parent, startTime }: Status) {
    this.pid = pid;
    this.parent = parent;
    this.startTime = startTime;
  }

  /** Undefined where there is no such process. */
  static of(pid: number): HostProcess | undefined {
    const status = statusOf(pid);
    return status && new HostProcess(pid, status);
  }

  state(): HostProcessState {
    const status = statusOf(this.pid);
    if (status?.startTime !== this.startTime || 'ZX'.includes(status.state)) return 'gone';
    return status.state === 'T' ? 'stopped' : 'running';
  }

  /** False: it is gone. */
  tell(signal: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): boolean {
    if (this.state() === 'gone') return false;
    try {
      return process.kill(this.pid, signal);
    } catch (error) {
      if (systemCode(error) === 'ESRCH') return false;
      throw error;
    }
  }
}

interface Status {
  readonly state: string;
  readonly parent: number;
  readonly startTime: string;
}

/** From "pid (name) state parent … start-time …"; the name may hold anything. */
function statusOf(pid: number): Status | undefined {
  try {
    const text = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const [state, parent, startTime] = [fields[0], fields[1], fields[22 - 3]];
    if (state === undefined || startTime === undefined) return undefined;
    return { state, parent: Number(parent), startTime };
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes(systemCode(error))) return undefined;
    throw error;
  }
}
