import type { Clock } from '../base/clock.ts';
import type { BashEvent, BashRequest, BashResult } from '../domain/bash.ts';
import type { Caller } from '../domain/caller.ts';
import { EmergentError } from '../domain/errors.ts';
import type { ProcessSignal } from '../domain/exec.ts';
import type { FileContent, FileInfo } from '../domain/provider.ts';
import type { RunningProcesses } from './running-processes.ts';
import { startBash } from './tools/bash.ts';
import type { Workspaces } from './workspaces.ts';

/** What a caller can do inside a workspace: the same on every provider. */
export class Tools {
  readonly #workspaces: Workspaces;
  readonly #running: RunningProcesses;
  readonly #clock: Clock;

  constructor(workspaces: Workspaces, running: RunningProcesses, clock: Clock) {
    this.#workspaces = workspaces;
    this.#running = running;
    this.#clock = clock;
  }

  /** Streams the command's output; the last event is its result. `signal` aborting ends the command. */
  async bash(
    caller: Caller,
    id: string,
    request: BashRequest,
    signal: AbortSignal,
  ): Promise<AsyncIterable<BashEvent>> {
    const { provider, ref } = await this.#workspaces.ready(caller, id);
    const run = await startBash(provider, ref, request, this.#clock, signal);
    return this.#tracked(id, run);
  }

  /** The same, answered once at the end. */
  async bashResult(
    caller: Caller,
    id: string,
    request: BashRequest,
    signal: AbortSignal,
  ): Promise<BashResult> {
    for await (const event of await this.bash(caller, id, request, signal)) {
      if (event.type === 'result') return event.result;
    }
    throw new EmergentError('sandbox_unreachable', 'the command ended without a result');
  }

  async signalProcess(caller: Caller, id: string, pid: number, name: ProcessSignal): Promise<void> {
    await this.#workspaces.get(caller, id);
    const process = this.#running.find(id, pid);
    if (!process) {
      throw new EmergentError(
        'process_not_found',
        `workspace ${id} runs no process ${String(pid)}`,
      );
    }
    await process.kill(name);
  }

  async readFile(
    caller: Caller,
    id: string,
    path: string,
    signal: AbortSignal,
  ): Promise<FileContent> {
    const { provider, ref } = await this.#workspaces.ready(caller, id);
    return provider.readFile(ref, path, signal);
  }

  async writeFile(
    caller: Caller,
    id: string,
    path: string,
    content: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<FileInfo> {
    const { provider, ref } = await this.#workspaces.ready(caller, id);
    return provider.writeFile(ref, path, content, signal);
  }

  async *#tracked(
    id: string,
    run: Awaited<ReturnType<typeof startBash>>,
  ): AsyncGenerator<BashEvent> {
    const forget = this.#running.add(id, run.process);
    try {
      yield* run.events;
    } finally {
      forget();
    }
  }
}
