import { ServerProcess } from '../support/server-process.ts';
import type { ServerProcessOptions } from '../support/server-process.ts';
import type { Complaints } from './findings.ts';

/**
 * Keeps one server running, except when the driver kills it. A server that ends by itself is a finding.
 *
 * down -> spawn() -> starting -> up -> kill() | stop() -> down
 */
export class ServerKeeper implements AsyncDisposable {
  readonly #options: ServerProcessOptions;
  readonly #findings: Complaints<'crash'>;
  #process: ServerProcess | undefined;
  #up = Promise.withResolvers<void>();
  #isUp = false;
  /** Starts so far. */
  starts = 0;

  constructor(options: ServerProcessOptions, findings: Complaints<'crash'>) {
    this.#options = options;
    this.#findings = findings;
  }

  /** Resolves at once while a server is up, otherwise when the next one is. */
  async whenUp(): Promise<void> {
    await this.#up.promise;
  }

  async spawn(): Promise<void> {
    this.starts += 1;
    const process = await ServerProcess.spawn(this.#options);
    this.#process = process;
    void process.ended.then(({ code, signal }) => {
      if (this.#process !== process) return;
      const how = String(signal ?? code);
      this.#findings.add('crash', `server ${String(this.starts)}`, `ended by itself: ${how}`);
    });
  }

  /** Spawned servers are up when they say so. */
  async ready(): Promise<void> {
    await this.#process?.ready;
    this.#isUp = true;
    this.#up.resolve();
  }

  async start(): Promise<void> {
    await this.spawn();
    await this.ready();
  }

  async kill(): Promise<void> {
    await this.#released()?.kill();
  }

  /** As an administrator stops it; it has to end well. */
  async stop(): Promise<void> {
    const end = await this.#released()?.stop();
    if (end && end.code !== 0) {
      const how = String(end.signal ?? end.code);
      this.#findings.add('crash', 'the last server', `did not stop in order: ${how}`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  /** From here on its end is ours. */
  #released(): ServerProcess | undefined {
    const process = this.#process;
    this.#process = undefined;
    // Those who wait through a start that failed wait on for the next one.
    if (this.#isUp) this.#up = Promise.withResolvers<void>();
    this.#isUp = false;
    return process;
  }
}
