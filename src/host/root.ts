import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { findProgram } from './programs.ts';
import { run, runOk } from './run.ts';
import type { RunOptions, RunResult } from './run.ts';

/** Work that needs root, on a machine where we are not and cannot become root. */
export class NeedsRootError extends Error {
  override readonly name = 'NeedsRootError';
  readonly command: string;

  constructor(argv: readonly string[]) {
    const command = argv.join(' ');
    super(`this needs root: ${command}`);
    this.command = command;
  }
}

/** The way to root on this machine. Every change outside the user's own directories goes through it. */
export class RootAccess {
  readonly kind: 'root' | 'sudo' | 'none';

  constructor(kind: 'root' | 'sudo' | 'none') {
    this.kind = kind;
  }

  static async find(): Promise<RootAccess> {
    if (process.getuid?.() === 0) return new RootAccess('root');
    if ((await findProgram('sudo')) === undefined) return new RootAccess('none');
    const silent = await run(['sudo', '-n', 'true'], { timeoutMs: 5_000 });
    return new RootAccess(silent.ok || process.stdin.isTTY ? 'sudo' : 'none');
  }

  async run(argv: readonly string[], options: RunOptions): Promise<RunResult> {
    if (this.kind === 'none') throw new NeedsRootError(argv);
    if (this.kind === 'root') return runOk(argv, options);
    const settings = Object.entries(options.env ?? {}).map(([name, value]) => `${name}=${value}`);
    return runOk(['sudo', 'env', ...settings, ...argv], options);
  }

  /** Replaces the file at once: a reader sees the old text or the new one. */
  async writeFile(path: string, text: string, signal: AbortSignal): Promise<void> {
    const directory = await mkdtemp(join(tmpdir(), 'emergent-'));
    try {
      const source = join(directory, 'file');
      await writeFile(source, text);
      await this.installFile(source, path, '0644', signal);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  }

  /** Copies a file into place atomically, making its directory. */
  async installFile(
    source: string,
    target: string,
    mode: string,
    signal: AbortSignal,
  ): Promise<void> {
    const options = { timeoutMs: 60_000, signal };
    const staged = `${target}.${randomUUID().slice(0, 8)}`;
    await this.run(['mkdir', '-p', dirname(target)], options);
    await this.run(['install', '-m', mode, source, staged], options);
    await this.run(['mv', '-fT', staged, target], options);
  }
}
