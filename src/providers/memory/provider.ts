import { constants } from 'node:fs';
import { access, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { systemClock } from '../../base/clock.ts';
import type { Clock } from '../../base/clock.ts';
import { freeResources } from '../../base/free-resources.ts';
import { reasonOf } from '../../base/reason.ts';
import { RecentMedian } from '../../base/recent-median.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { ExecProcess, ExecRequest } from '../../domain/exec.ts';
import type {
  CreatedSandbox,
  DestroyOptions,
  FileContent,
  FoundSandbox,
  ProviderCapabilities,
  ProviderHealth,
  ReadOptions,
  SandboxRef,
  SandboxSpec,
  SandboxStats,
  StopOptions,
  WarmSandboxes,
  WorkspaceProvider,
  WriteOptions,
  WrittenFile,
} from '../../domain/provider.ts';
import type { SandboxProcesses } from '../../domain/sandbox-processes.ts';
import { terminateGraceMs } from '../../domain/provider.ts';
import { dialHost } from './dial.ts';
import { MemorySandbox } from './sandbox.ts';

export interface MemoryProviderOptions {
  /** The sandboxes' private directories lie here. */
  readonly root: string;
  /** The guest agent for this machine, which has the tools; without it there are none. */
  readonly agentPath?: string;
  readonly clock?: Clock;
  /** What commands get between SIGTERM and force, when a sandbox is stopped or destroyed. */
  readonly graceMs?: number;
}

const metadata = { isolation: 'none', limits_enforced: false } as const;

/**
 * Sandboxes without isolation, for tests and demonstrations: commands are child processes of this one, with
 * its rights, and only the file methods are confined to /workspace. What it knows lives in memory, so
 * disposing of it removes every sandbox. Limits, images, networks and volumes are accepted and not enforced.
 */
export class MemoryProvider implements WorkspaceProvider {
  readonly name: string = 'memory';
  readonly toolProgram?: readonly [string, string];
  readonly processes: SandboxProcesses;
  readonly warm: WarmSandboxes;
  readonly #root: string;
  readonly #clock: Clock;
  readonly #graceMs: number;
  readonly #sandboxes = new Map<string, MemorySandbox>();
  readonly #startupTimes = new RecentMedian();

  constructor(options: MemoryProviderOptions) {
    if (options.agentPath !== undefined) this.toolProgram = [options.agentPath, 'tool'];
    this.#root = options.root;
    this.#clock = options.clock ?? systemClock;
    this.#graceMs = options.graceMs ?? terminateGraceMs;
    this.processes = {
      start: async (ref, request, signal) => this.#find(ref, signal).startDetached(request),
      list: async (ref, signal) => this.#find(ref, signal).listProcesses(),
      attach: async (ref, id, at, signal) => this.#find(ref, signal).attach(id, at, signal),
      signal: async (ref, id, name, signal) => this.#find(ref, signal).signal(id, name),
      input: async (ref, id, data, signal) => this.#find(ref, signal).input(id, data, signal),
      closeInput: async (ref, id, signal) => {
        this.#find(ref, signal).closeInput(id);
      },
      endAll: async (ref, graceMs, signal) => this.#find(ref, signal).endAll(graceMs, signal),
      resize: async (ref, id, _size, signal) => this.#find(ref, signal).resize(id),
    };
    this.warm = {
      // Images are accepted and not used: what is made of one never changes.
      fingerprint: async ({ image }) => image,
      rest: async (ref, signal) => {
        this.#find(ref, signal).requireRunning();
      },
      rouse: () => undefined,
      adopt: async (ref, { env }, signal) => {
        this.#find(ref, signal).adopt(env);
      },
    };
  }

  async create(spec: SandboxSpec, signal: AbortSignal): Promise<CreatedSandbox> {
    signal.throwIfAborted();
    const startedAt = this.#clock.monotonic();
    const sandbox = this.#new(spec, spec);
    await this.#sandboxes.get(spec.sandboxName)?.discard();
    this.#sandboxes.set(spec.sandboxName, sandbox);
    try {
      await sandbox.make();
    } catch (error) {
      this.#sandboxes.delete(spec.sandboxName);
      const leftovers = await sandbox.discard().then(
        () => [],
        (failure: unknown) => [failure],
      );
      throw new EmergentError('provider_failed', `making ${spec.sandboxName}: ${reasonOf(error)}`, {
        cause: new AggregateError([error, ...leftovers], 'a sandbox could not be made'),
      });
    }
    this.#startupTimes.add(this.#clock.monotonic() - startedAt);
    return { limits: spec.limits, metadata };
  }

  async destroy(
    ref: SandboxRef,
    signal: AbortSignal,
    { keepFiles = false, ...options }: DestroyOptions = {},
  ): Promise<void> {
    if (keepFiles) return this.stop(ref, signal, options);
    signal.throwIfAborted();
    const sandbox = this.#sandboxes.get(ref.sandboxName) ?? this.#new(ref);
    await sandbox.remove(signal, options);
    if (this.#sandboxes.get(ref.sandboxName) === sandbox) this.#sandboxes.delete(ref.sandboxName);
  }

  async stop(ref: SandboxRef, signal: AbortSignal, options?: StopOptions): Promise<void> {
    signal.throwIfAborted();
    await this.#sandboxes.get(ref.sandboxName)?.stop(signal, options);
  }

  /** What an earlier process left of it, which this one does not know, is enough: its directory. */
  async resume(ref: SandboxRef, spec: SandboxSpec, signal: AbortSignal): Promise<CreatedSandbox> {
    signal.throwIfAborted();
    const sandbox = this.#sandboxes.get(ref.sandboxName) ?? this.#new(ref, spec);
    await sandbox.resume(spec);
    this.#sandboxes.set(ref.sandboxName, sandbox);
    return { limits: spec.limits, metadata };
  }

  async exec(ref: SandboxRef, request: ExecRequest, signal: AbortSignal): Promise<ExecProcess> {
    return this.#find(ref, signal).exec(request);
  }

  async readFile(
    ref: SandboxRef,
    path: string,
    signal: AbortSignal,
    options?: ReadOptions,
  ): Promise<FileContent> {
    return this.#find(ref, signal).readFile(path, options);
  }

  async writeFile(
    ref: SandboxRef,
    path: string,
    content: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
    options?: WriteOptions,
  ): Promise<WrittenFile> {
    return this.#find(ref, signal).writeFile(path, content, signal, options);
  }

  async health(signal: AbortSignal): Promise<ProviderHealth> {
    signal.throwIfAborted();
    const details = { root: this.#root, sandboxes: this.#sandboxes.size };
    try {
      await mkdir(this.#root, { recursive: true });
      await access(this.#root, constants.W_OK);
      return { state: 'healthy', details };
    } catch (error) {
      const remedy = `Make ${this.#root} a directory that the server can write to.`;
      return { state: 'unhealthy', reason: reasonOf(error), remedy, details };
    }
  }

  async capabilities(): Promise<ProviderCapabilities> {
    return {
      isolation: 'none',
      features: {
        persistence: true,
        snapshots: false,
        warmPool: true,
        processes: true,
        terminals: false,
        tools: this.toolProgram !== undefined,
        list: true,
        stats: true,
        tunnels: true,
      },
      requires: [],
      startupMs: this.#startupTimes.value,
      available: freeResources(),
    };
  }

  async dial(ref: SandboxRef, port: number, signal: AbortSignal): Promise<Duplex> {
    this.#find(ref, signal).requireRunning();
    return dialHost(port, signal);
  }

  async stats(ref: SandboxRef, signal: AbortSignal): Promise<SandboxStats> {
    return this.#find(ref, signal).stats(signal);
  }

  async list(signal: AbortSignal): Promise<readonly FoundSandbox[]> {
    signal.throwIfAborted();
    return Promise.all([...this.#sandboxes.values()].map((sandbox) => sandbox.found()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#sandboxes.values()].map((sandbox) => sandbox.discard()));
    this.#sandboxes.clear();
  }

  #new(ref: SandboxRef, { env }: Pick<SandboxSpec, 'env'> = { env: {} }): MemorySandbox {
    const { workspaceId, sandboxName } = ref;
    if (!/^[\w-][\w.-]*$/.test(sandboxName)) {
      throw new EmergentError('invalid_value', `"${sandboxName}" cannot name a sandbox`);
    }
    return new MemorySandbox({
      ref: { workspaceId, sandboxName },
      home: join(this.#root, sandboxName),
      env,
      clock: this.#clock,
      graceMs: this.#graceMs,
    });
  }

  #find(ref: SandboxRef, signal: AbortSignal): MemorySandbox {
    signal.throwIfAborted();
    const sandbox = this.#sandboxes.get(ref.sandboxName);
    if (sandbox) return sandbox;
    throw new EmergentError('sandbox_unreachable', `there is no sandbox named ${ref.sandboxName}`);
  }
}
