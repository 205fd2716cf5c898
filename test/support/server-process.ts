import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { withDeadline } from '../../src/base/deadline.ts';

export const projectRoot = resolve(import.meta.dirname, '../..');

export interface ServerProcessOptions {
  /** A checkout of the project whose server is started; this one unless told. */
  readonly root?: string;
  /** Everything that the server is told; nothing of the developer's own settings reaches it. */
  readonly env: Readonly<Record<string, string>>;
  /** The file that its log is appended to. */
  readonly log: string;
  /** The network namespace that it runs in; this one unless told. */
  readonly namespace?: string;
}

/** How a process ended. */
export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

const readyMs = 60_000;
const stopMs = 60_000;

/** `emergent serve` as a process of its own, to be killed like one. */
export class ServerProcess implements AsyncDisposable {
  /** Resolves when it has announced its address; rejects when it ends before. */
  readonly ready: Promise<void>;
  readonly ended: Promise<ProcessEnd>;
  readonly #child: ChildProcess;
  readonly #log: string;

  private constructor(child: ChildProcess, stdout: Readable, log: string) {
    this.#child = child;
    this.#log = log;
    this.ended = endOf(child);
    this.ready = withDeadline('starting the server', readyMs, () => this.#announced(stdout));
    this.ready.catch(() => undefined);
  }

  static async spawn(options: ServerProcessOptions): Promise<ServerProcess> {
    const root = options.root ?? projectRoot;
    const log = await open(options.log, 'a');
    const main = join(root, 'src/cli/main.ts');
    const argv = [
      // Becomes the server, with its pid.
      ...(options.namespace === undefined ? [] : ['nsenter', `--net=${options.namespace}`]),
      ...[process.execPath, '--disable-warning=ExperimentalWarning', main, 'serve', '--json'],
    ];
    const child = spawn(argv[0] ?? '', argv.slice(1), {
      cwd: root,
      // A session of its own: a Ctrl-C at the terminal ends it through us, in order.
      detached: true,
      stdio: ['ignore', 'pipe', log.fd],
      env: {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compile'),
        EMERGENT_SKIP_SETUP: '1',
        // What waits in a pool would be counted among what a test makes.
        WORKSPACE_WARM_POOL_SIZE: '0',
        ...options.env,
      },
    });
    await log.close();
    if (!child.stdout) throw new Error('the server has no standard output');
    return new ServerProcess(child, child.stdout, options.log);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** As a crash ends it: no handler of it runs. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await withDeadline('the end of a killed server', stopMs, () => this.ended);
  }

  /** As an administrator stops it. */
  async stop(): Promise<ProcessEnd> {
    this.#child.kill('SIGTERM');
    return withDeadline('the end of a stopped server', stopMs, () => this.ended);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  async #announced(stdout: Readable): Promise<void> {
    const announced = Promise.withResolvers<void>();
    createInterface(stdout).on('line', (line) => {
      if (line === '}') announced.resolve();
    });
    const early = this.ended.then(async ({ code, signal }) => {
      const lines = (await readFile(this.#log, 'utf8')).trimEnd().split('\n').slice(-5);
      const how = String(signal ?? code);
      throw new Error(`the server ended before it was ready (${how}):\n${lines.join('\n')}`);
    });
    await Promise.race([announced.promise, early]);
  }
}

async function endOf(child: ChildProcess): Promise<ProcessEnd> {
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  return { code, signal };
}
