import { mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { EmergentError } from '../../domain/errors.ts';
import type { ExecRequest } from '../../domain/exec.ts';
import type { FileContent, FileInfo } from '../../domain/provider.ts';
import { startHostProcess } from './host-process.ts';
import type { HostProcess } from './host-process.ts';
import { realHostPath } from './paths.ts';
import { readSandboxFile } from './read-file.ts';
import { writeSandboxFile } from './write-file.ts';

const searchPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * One private directory and the processes started in it.
 * running -> stopped (processes killed) -> running;      running | stopped -> removed, for good.
 */
export class MemorySandbox {
  readonly #home: string;
  readonly #directory: string;
  readonly #staging: string;
  readonly #env: Readonly<Record<string, string>>;
  readonly #processes = new Set<HostProcess>();
  #state: 'running' | 'stopped' | 'removed' = 'running';

  constructor(home: string, env: Readonly<Record<string, string>>) {
    this.#home = home;
    this.#directory = join(home, 'workspace');
    this.#staging = join(home, 'staging');
    this.#env = env;
  }

  async make(): Promise<void> {
    await mkdir(this.#directory, { recursive: true });
    await mkdir(this.#staging);
  }

  async exec(request: ExecRequest): Promise<HostProcess> {
    this.#requireRunning();
    const cwd = await this.#workdir(request.workdir ?? '.');
    const process = await startHostProcess({
      argv: request.argv,
      cwd,
      // Nothing of the server's own environment: it holds the server's secrets.
      env: { PATH: searchPath, HOME: this.#directory, ...this.#env, ...request.env },
      stdin: request.stdin ?? false,
    });
    this.#forgetEnded();
    this.#processes.add(process);
    // Stopped or removed meanwhile: whoever did that has not seen this process.
    if (this.#state !== 'running') await this.#killAll();
    this.#requireRunning();
    return process;
  }

  async readFile(path: string): Promise<FileContent> {
    this.#requireRunning();
    return readSandboxFile(this.#directory, path);
  }

  async writeFile(
    path: string,
    content: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<FileInfo> {
    this.#requireRunning();
    const place = { directory: this.#directory, staging: this.#staging };
    return writeSandboxFile(place, path, content, signal);
  }

  async stop(): Promise<void> {
    if (this.#state === 'running') this.#state = 'stopped';
    await this.#killAll();
  }

  resume(): void {
    if (this.#state === 'stopped') this.#state = 'running';
    this.#requireRunning();
  }

  async remove(): Promise<void> {
    this.#state = 'removed';
    await this.#killAll();
    // Killed children may still be leaving the directory: removing it is tried again for a moment.
    await rm(this.#home, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 });
  }

  #requireRunning(): void {
    if (this.#state === 'running') return;
    throw new EmergentError('sandbox_unreachable', `the sandbox is ${this.#state}`);
  }

  async #workdir(path: string): Promise<string> {
    const directory = await realHostPath(this.#directory, path).catch((error: unknown) => {
      if (!(error instanceof EmergentError) || error.code !== 'file_not_found') throw error;
      throw new EmergentError('invalid_value', `workdir: ${path} does not exist`);
    });
    if ((await stat(directory)).isDirectory()) return directory;
    throw new EmergentError('invalid_value', `workdir: ${path} is not a directory`);
  }

  #forgetEnded(): void {
    for (const process of this.#processes) {
      if (!process.hasGroup) this.#processes.delete(process);
    }
  }

  async #killAll(): Promise<void> {
    const processes = [...this.#processes];
    await Promise.all(processes.map((process) => process.kill('SIGKILL')));
    await Promise.all(processes.map((process) => process.ended));
    this.#processes.clear();
  }
}
