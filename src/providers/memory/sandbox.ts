import { mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCode } from '../../base/system-code.ts';
import type { Clock } from '../../base/clock.ts';
import { withDeadline } from '../../base/deadline.ts';
import { EmergentError } from '../../domain/errors.ts';
import type {
  AttachOptions,
  ExecRequest,
  OutputEvent,
  ProcessInfo,
  ProcessSignal,
} from '../../domain/exec.ts';
import type {
  FileContent,
  FoundSandbox,
  ReadOptions,
  SandboxRef,
  SandboxSpec,
  SandboxStats,
  StopOptions,
  WriteOptions,
  WrittenFile,
} from '../../domain/provider.ts';
import { startHostProcess } from './host-process.ts';
import type { HostProcess } from './host-process.ts';
import { OutputLog } from './output-log.ts';
import { realHostPath } from './paths.ts';
import { ProcessTable } from './process-table.ts';
import { readSandboxFile } from './read-file.ts';
import { bytesIn } from './stats-disk.ts';
import { ProcessUse } from './stats-processes.ts';
import { writeSandboxFile } from './write-file.ts';

/** One that does not read fills its pipe. */
const inputMs = 10_000;
const searchPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export interface MemorySandboxOptions {
  readonly ref: SandboxRef;
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** What commands get between SIGTERM and force. */
  readonly graceMs: number;
}

/**
 * One private directory and the processes started in it.
 * running -> stopped (processes ended) -> running;      running | stopped -> removed, for good.
 */
export class MemorySandbox {
  readonly #options: MemorySandboxOptions;
  readonly #directory: string;
  readonly #staging: string;
  readonly #createdAt: Date;
  readonly #processes: ProcessTable;
  readonly #use = new ProcessUse();
  #state: 'running' | 'stopped' | 'removed' = 'running';
  #stoppedAt: Date | undefined;
  #env: Readonly<Record<string, string>>;

  constructor(options: MemorySandboxOptions) {
    this.#options = options;
    this.#directory = join(options.home, 'workspace');
    this.#staging = join(options.home, 'staging');
    this.#createdAt = options.clock.now();
    this.#processes = new ProcessTable(options.clock);
    this.#env = options.env;
  }

  async make(): Promise<void> {
    await rm(this.#options.home, { recursive: true, force: true });
    await mkdir(this.#directory, { recursive: true });
    await mkdir(this.#staging);
  }

  exec(request: ExecRequest): Promise<HostProcess> {
    return this.#start(request, false);
  }

  async startDetached(request: ExecRequest & { readonly id: string }): Promise<ProcessInfo> {
    await this.#start(request, true);
    return this.#processes.find(request.id);
  }

  /** For commands that are started from now on. */
  adopt(env: Readonly<Record<string, string>>): void {
    this.requireRunning();
    this.#env = env;
  }

  listProcesses(): readonly ProcessInfo[] {
    this.requireRunning();
    return this.#processes.list();
  }

  attach(id: string, options: AttachOptions, signal: AbortSignal): AsyncIterable<OutputEvent> {
    this.requireRunning();
    return this.#processes.attach(id, options, signal);
  }

  async signal(id: string, name: ProcessSignal): Promise<void> {
    this.requireRunning();
    await this.#processes.signal(id, name);
  }

  async input(id: string, data: Uint8Array, signal: AbortSignal): Promise<void> {
    this.requireRunning();
    const written = (): Promise<void> => this.#processes.input(id, data);
    await withDeadline('writing to a process', inputMs, written, signal);
  }

  closeInput(id: string): void {
    this.requireRunning();
    this.#processes.closeInput(id);
  }

  async endAll(graceMs: number, signal: AbortSignal): Promise<void> {
    this.requireRunning();
    await this.#processes.endAll(graceMs, signal);
  }

  /** No process here has a terminal. */
  async resize(id: string): Promise<void> {
    this.requireRunning();
    this.#processes.find(id);
    throw new EmergentError('wrong_state', `process ${id} has no terminal`);
  }

  async readFile(path: string, options?: ReadOptions): Promise<FileContent> {
    this.requireRunning();
    return readSandboxFile(this.#directory, path, options);
  }

  async writeFile(
    path: string,
    content: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
    options?: WriteOptions,
  ): Promise<WrittenFile> {
    this.requireRunning();
    const place = { directory: this.#directory, staging: this.#staging };
    return writeSandboxFile(place, path, content, signal, options);
  }

  async stop(signal: AbortSignal, { graceMs }: StopOptions = {}): Promise<void> {
    if (this.#state === 'running') {
      this.#state = 'stopped';
      this.#stoppedAt = this.#options.clock.now();
    }
    await this.#processes.terminate(graceMs ?? this.#options.graceMs, signal);
  }

  async resume({ env }: Pick<SandboxSpec, 'env'>): Promise<void> {
    if (!(await this.hasFiles())) {
      throw new EmergentError('files_lost', `there is no directory ${this.#directory}`);
    }
    if (this.#state === 'stopped') this.#state = 'running';
    this.requireRunning();
    this.#env = env;
  }

  async remove(signal: AbortSignal, { graceMs }: StopOptions): Promise<void> {
    this.#state = 'removed';
    await this.#processes.terminate(graceMs ?? this.#options.graceMs, signal);
    await this.#removeFiles();
  }

  /** Without grace. */
  async discard(): Promise<void> {
    this.#state = 'removed';
    await this.#processes.terminate(0, new AbortController().signal);
    await this.#removeFiles();
  }

  async found(): Promise<FoundSandbox> {
    const reason = `was stopped at ${this.#stoppedAt?.toISOString() ?? ''}`;
    return {
      ...this.#options.ref,
      state: this.#state === 'running' ? 'running' : 'stopped',
      hasFiles: await this.hasFiles(),
      createdAt: this.#createdAt,
      parts: [`directory ${this.#options.home}`],
      ...(this.#stoppedAt && this.#state === 'stopped' && { reason }),
    };
  }

  async stats(signal: AbortSignal): Promise<SandboxStats> {
    const use =
      this.#state === 'running' ? await this.#use.look(this.#processes.groups()) : undefined;
    return {
      at: this.#options.clock.now(),
      frozen: false,
      cpuSeconds: use?.cpuSeconds ?? null,
      memoryBytes: use?.memoryBytes ?? null,
      processes: use?.processes ?? null,
      diskBytes: await bytesIn(this.#directory, signal),
    };
  }

  async hasFiles(): Promise<boolean> {
    try {
      return (await stat(this.#directory)).isDirectory();
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return false;
      throw error;
    }
  }

  async #start(request: ExecRequest, detached: boolean): Promise<HostProcess> {
    this.requireRunning();
    if (request.pty) throw new EmergentError('unsupported', 'memory has no terminals');
    using _ = this.#processes.reserve(request.id);
    const cwd = await this.#workdir(request.workdir ?? '.');
    const log = new OutputLog(request.id === undefined ? 0 : undefined);
    const process = await startHostProcess({
      argv: request.argv,
      cwd,
      // Nothing of the server's own environment: it holds the server's secrets.
      env: { PATH: searchPath, HOME: this.#directory, ...this.#env, ...request.env },
      stdin: request.stdin ?? false,
      attached: !detached,
      log,
      clock: this.#options.clock,
    });
    this.#processes.add({ id: request.id, argv: request.argv, detached, process, log });
    if (this.#state === 'running') return process;
    // Stopped or removed meanwhile: whoever did that has not seen this process.
    await process.kill('SIGKILL');
    await process.ended;
    this.requireRunning();
    return process;
  }

  async #removeFiles(): Promise<void> {
    const { home } = this.#options;
    // Killed children may still be leaving the directory: removing it is tried again for a moment.
    await rm(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 });
  }

  requireRunning(): void {
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
}
