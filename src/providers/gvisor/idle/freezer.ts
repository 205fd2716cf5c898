import { readFileSync } from 'node:fs';
import { systemCode } from '../../../base/system-code.ts';
import { isMissing } from '../disk/host-files.ts';

export type FreezerState = 'frozen' | 'thawed' | 'gone';

/** The switch that keeps one sandbox from running, and lets it go on. */
export interface Freezer {
  /** `gone`: the container has ended. */
  state(): FreezerState;
  /** False: it is gone. */
  freeze(): boolean;
  /** False: it is gone. */
  thaw(): boolean;
}

/**
 * Stops gVisor's kernel of the sandbox, a process of the host, by SIGSTOP: without it nothing in the sandbox gets
 * further than its next system call. The freezer of control groups would also stop the processes that it runs its
 * guests in, and gVisor loses those when they are interrupted twice.
 *
 * All of it is synchronous: it takes microseconds, and nothing can come between looking and freezing.
 */
export class SentryFreezer implements Freezer {
  readonly #pid: number;
  readonly #startTime: string;
  /** It may not show yet that it was told to stop. */
  #told = false;

  private constructor(pid: number, startTime: string) {
    this.#pid = pid;
    this.#startTime = startTime;
  }

  /** Undefined where there is no such process. */
  static of(pid: number): SentryFreezer | undefined {
    const status = statusOf(pid);
    return status && new SentryFreezer(pid, status.startTime);
  }

  state(): FreezerState {
    const status = statusOf(this.#pid);
    if (status?.startTime !== this.#startTime || 'ZX'.includes(status.state)) return 'gone';
    return status.state === 'T' ? 'frozen' : 'thawed';
  }

  freeze(): boolean {
    if (this.state() === 'gone') return false;
    this.#told = true;
    return send(this.#pid, 'SIGSTOP');
  }

  thaw(): boolean {
    const state = this.state();
    if (state === 'gone') return false;
    if (state === 'thawed' && !this.#told) return true;
    this.#told = false;
    return send(this.#pid, 'SIGCONT');
  }
}

interface Status {
  readonly state: string;
  /** Tells it from a later process of the same number. */
  readonly startTime: string;
}

/** From "pid (name) state parent … start-time …"; the name may hold anything. */
function statusOf(pid: number): Status | undefined {
  try {
    const text = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const [state, startTime] = [fields[0], fields[22 - 3]];
    return state === undefined || startTime === undefined ? undefined : { state, startTime };
  } catch (error) {
    if (isMissing(error) || systemCode(error) === 'ESRCH') return undefined;
    throw error;
  }
}

/** False: there is no such process. */
function send(pid: number, signal: 'SIGSTOP' | 'SIGCONT'): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if (systemCode(error) === 'ESRCH') return false;
    throw error;
  }
}
