import type { Clock } from '../../base/clock.ts';
import { reasonOf } from '../../base/reason.ts';
import { Failure } from '../failure.ts';
import { exitCodeOfSignal } from '../exit-codes.ts';
import type { PassedOnSignal } from '../terminal/signals.ts';
import { note } from '../terminal/output.ts';

const killGraceMs = 5_000;

export interface ForwarderOptions {
  /** To the command's process group. */
  readonly send: (processId: string, signal: string) => Promise<void>;
  readonly clock: Clock;
}

/**
 * What Ctrl-C and a polite kill mean for a command that runs elsewhere:
 * 1st: the same signal goes to the command, which may take its time, and its output goes on;
 * 2nd: SIGTERM, and SIGKILL if it still runs after five seconds;
 * 3rd: stop waiting at once; the server ends the command when the connection closes.
 * Signals that come before the command has started are delivered when it has.
 */
export class SignalForwarder {
  readonly #options: ForwarderOptions;
  readonly #gaveUp = new AbortController();
  readonly #ended = new AbortController();
  readonly #waiting: string[] = [];
  #processId: string | undefined;
  #received = 0;

  constructor(options: ForwarderOptions) {
    this.#options = options;
  }

  /** Aborts when the user does not want to wait any longer. */
  get gaveUp(): AbortSignal {
    return this.#gaveUp.signal;
  }

  /** Undefined until it has started. */
  get processId(): string | undefined {
    return this.#processId;
  }

  started(processId: string): void {
    this.#processId = processId;
    for (const signal of this.#waiting.splice(0)) void this.#deliver(signal);
  }

  ended(): void {
    this.#ended.abort();
  }

  receive(signal: PassedOnSignal): void {
    this.#received += 1;
    if (this.#received === 1) {
      void this.#deliver(signal);
    } else if (this.#received === 2) {
      note('emergent: ending the command; once more to stop waiting for it');
      void this.#terminate();
    } else {
      const exitCode = exitCodeOfSignal(signal);
      const message = 'stopped waiting; the server ends the command';
      this.#gaveUp.abort(new Failure('interrupted', message, { exitCode }));
    }
  }

  async #terminate(): Promise<void> {
    await this.#deliver('SIGTERM');
    await this.#options.clock.sleep(killGraceMs, this.#ended.signal).then(
      () => this.#deliver('SIGKILL'),
      () => undefined,
    );
  }

  async #deliver(signal: string): Promise<void> {
    if (this.#hasEnded()) return;
    if (this.#processId === undefined) {
      this.#waiting.push(signal);
      return;
    }
    try {
      await this.#options.send(this.#processId, signal);
    } catch (error) {
      // A command that has just ended is what the signal was for.
      if (this.#hasEnded() || isProcessGone(error)) return;
      note(`emergent: ${signal} not passed on: ${reasonOf(error)}`);
    }
  }

  #hasEnded(): boolean {
    return this.#ended.signal.aborted;
  }
}

function isProcessGone(error: unknown): boolean {
  return error instanceof Failure && error.code === 'process_not_found';
}
