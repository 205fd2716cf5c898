import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { withDeadline } from '../../src/base/deadline.ts';
import { lastLines } from '../../src/host/run.ts';

/** It ends containers first where it is to; each of them has ten seconds for that. */
const stopMs = 90_000;

/** One process in a session of its own, so that a Ctrl-C at the tests reaches it only through us. */
export class Daemon {
  readonly #log: string;
  readonly #argv: () => Promise<string[]>;
  #child: ChildProcess | undefined;
  #ended: Promise<unknown> = Promise.resolve();

  constructor(log: string, argv: () => Promise<string[]>) {
    this.#log = log;
    this.#argv = argv;
  }

  /** Undefined while it does not run. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  async start(): Promise<void> {
    if (this.#child) return;
    const [program = '', ...args] = await this.#argv();
    const log = await open(this.#log, 'a');
    const child = spawn(program, args, { detached: true, stdio: ['ignore', log.fd, log.fd] });
    await log.close();
    this.#child = child;
    this.#ended = once(child, 'exit').finally(() => {
      if (this.#child === child) this.#child = undefined;
    });
  }

  /** Rejects when the process ends by itself. */
  async failure(): Promise<never> {
    await this.#ended;
    const log = await readFile(this.#log, 'utf8').catch(() => '');
    throw new Error(`a daemon of the private engine ended: ${lastLines(log, 5)}`);
  }

  async stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    this.#child?.kill(signal);
    await withDeadline('the end of the private engine', stopMs, async () => this.#ended);
  }
}
