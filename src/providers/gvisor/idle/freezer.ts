import { HostProcess } from '../../../base/host-process.ts';

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
 * All of it is synchronous: nothing can come between looking and freezing.
 */
export class SentryFreezer implements Freezer {
  readonly #sentry: HostProcess;
  /** It may not show yet that it was told to stop. */
  #told = false;

  private constructor(sentry: HostProcess) {
    this.#sentry = sentry;
  }

  /** Undefined where there is no such process. */
  static of(pid: number): SentryFreezer | undefined {
    const sentry = HostProcess.of(pid);
    return sentry && new SentryFreezer(sentry);
  }

  state(): FreezerState {
    return states[this.#sentry.state()];
  }

  freeze(): boolean {
    this.#told = true;
    return this.#sentry.tell('SIGSTOP');
  }

  thaw(): boolean {
    const state = this.state();
    if (state === 'gone') return false;
    if (state === 'thawed' && !this.#told) return true;
    this.#told = false;
    return this.#sentry.tell('SIGCONT');
  }
}

const states = { running: 'thawed', stopped: 'frozen', gone: 'gone' } as const;
