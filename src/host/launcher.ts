import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { abortReason } from '../base/clock.ts';
import type { RunOptions, RunResult } from './run.ts';

/** What a launcher can be asked to run: no lines as they come. */
export type LaunchOptions = Omit<RunOptions, 'onLine' | 'cwd'>;

/** To the launcher's process. */
export type LaunchRequest =
  | {
      readonly id: number;
      readonly argv: readonly string[];
      readonly options: Omit<LaunchOptions, 'signal'>;
    }
  | { readonly id: number; readonly abort: true };

/** From it. */
export interface LaunchAnswer {
  readonly id: number;
  /** Absent where the program was aborted. */
  readonly result?: RunResult;
}

interface Waiting {
  readonly answer: (result: RunResult | undefined) => void;
}

/**
 * Runs programs from a small process of its own. Whoever starts a program is copied first, and everything waits
 * meanwhile: a server with an embedded database stands still for some 50 ms each time.
 *
 * The process is started with the first program and again if it has ended. It lives in a session of its own, so that
 * Ctrl-C is the server's to handle, and ends when the server does, after the programs that it still runs.
 */
export class Launcher implements Disposable {
  readonly #waiting = new Map<number, Waiting>();
  #child: ChildProcess | undefined;
  #lastId = 0;

  /** So that the first program does not wait for the process. */
  start(): void {
    this.#child ??= this.#fork();
  }

  /** As `run` does it. */
  async run(argv: readonly string[], { signal, ...options }: LaunchOptions): Promise<RunResult> {
    signal?.throwIfAborted();
    this.start();
    const id = ++this.#lastId;
    const { promise, resolve } = Promise.withResolvers<RunResult | undefined>();
    this.#waiting.set(id, { answer: resolve });
    const abort = (): void => {
      this.#send({ id, abort: true });
    };
    signal?.addEventListener('abort', abort, { once: true });
    try {
      this.#send({ id, argv, options });
      const result = await promise;
      if (result) return result;
      throw signal ? abortReason(signal) : new Error(`${argv[0] ?? ''} was aborted`);
    } finally {
      signal?.removeEventListener('abort', abort);
      this.#waiting.delete(id);
    }
  }

  [Symbol.dispose](): void {
    if (this.#child?.connected === true) this.#child.disconnect();
  }

  #send(request: LaunchRequest): void {
    const child = this.#child;
    child?.send(request, (error) => {
      if (error) this.#lost(child, error.message);
    });
  }

  #fork(): ChildProcess {
    const child = fork(join(import.meta.dirname, 'launcher-process.ts'), {
      detached: true,
      execArgv: ['--disable-warning=ExperimentalWarning', '--max-old-space-size=64'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    child.on('message', (message) => {
      const { id, result } = message as LaunchAnswer;
      this.#waiting.get(id)?.answer(result);
    });
    child.once('error', (error) => {
      this.#lost(child, error.message);
    });
    child.once('exit', (code, signal) => {
      this.#lost(child, `it ended with ${String(code ?? signal)}`);
    });
    // It holds nobody up: whoever waits for a program has timers of its own.
    child.unref();
    child.channel?.unref();
    return child;
  }

  /** What it was asked to run may have run, or not: a failure like that of any program. */
  #lost(child: ChildProcess, why: string): void {
    if (this.#child !== child) return;
    this.#child = undefined;
    const failure = `the process that starts programs was lost: ${why}`;
    const nothing = { exitCode: null, stdout: '', stderr: '', timedOut: false, notFound: false };
    for (const { answer } of this.#waiting.values()) answer({ ...nothing, ok: false, failure });
  }
}
