import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../../..');
const entry = join(root, 'src/cli/main.ts');
/** The tests start the command hundreds of times: compiled code is kept between the starts. */
const compileCache = join(root, 'node_modules/.cache/compile');

export interface CliResult {
  readonly code: number | null;
  /** The signal that ended the process, if it did not end by itself. */
  readonly signal: NodeJS.Signals | null;
  readonly bytes: Buffer;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly input?: string | Buffer;
}

/** A running `emergent`, as a user's shell would start it. */
export class Cli {
  readonly #child;
  readonly #stdout: Buffer[] = [];
  readonly #stderr: Buffer[] = [];
  readonly #grown = new EventTarget();
  readonly ended: Promise<CliResult>;

  constructor(args: readonly string[], options: CliOptions = {}) {
    this.#child = spawn(process.execPath, [entry, ...args], {
      cwd: options.cwd,
      // Nothing of the developer's own settings: what a test does not say is the default.
      env: {
        PATH: process.env['PATH'],
        HOME: '/nonexistent',
        NODE_COMPILE_CACHE: compileCache,
        ...options.env,
      },
    });
    this.#child.stdin.on('error', () => undefined);
    this.#child.stdin.end(options.input);
    this.#collect(this.#child.stdout, this.#stdout);
    this.#collect(this.#child.stderr, this.#stderr);
    this.ended = this.#result();
  }

  get stdout(): string {
    return Buffer.concat(this.#stdout).toString();
  }

  get stderr(): string {
    return Buffer.concat(this.#stderr).toString();
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** As a reader such as `head` does when it has seen enough. */
  closeStdout(): void {
    this.#child.stdout.destroy();
  }

  /** Resolves when the output holds `text`; fails when the process ends without it. */
  async shows(stream: 'stdout' | 'stderr', text: string): Promise<void> {
    let over = false;
    const ended = this.ended.then(() => true);
    while (!this[stream].includes(text)) {
      if (over) throw new Error(`ended without "${text}": ${this.stdout}${this.stderr}`);
      over = await Promise.race([once(this.#grown, 'grown').then(() => false), ended]);
    }
  }

  #collect(stream: NodeJS.ReadableStream, into: Buffer[]): void {
    stream.on('data', (chunk: Buffer) => {
      into.push(chunk);
      this.#grown.dispatchEvent(new Event('grown'));
    });
  }

  async #result(): Promise<CliResult> {
    const [code, signal] = (await once(this.#child, 'close')) as [
      number | null,
      NodeJS.Signals | null,
    ];
    const bytes = Buffer.concat(this.#stdout);
    return { code, signal, bytes, stdout: bytes.toString(), stderr: this.stderr };
  }
}

/** Runs `emergent` to its end. */
export function cli(args: readonly string[], options?: CliOptions): Promise<CliResult> {
  return new Cli(args, options).ended;
}
