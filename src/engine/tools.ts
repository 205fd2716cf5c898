import { randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { BashEvent, BashRequest, BashResult } from '../domain/bash.ts';
import type { Caller } from '../domain/caller.ts';
import { EmergentError } from '../domain/errors.ts';
import type { GitRequest, GitResult } from '../domain/git.ts';
import type { FileContent, FileInfo } from '../domain/provider.ts';
import type { GlobRequest, GlobResult, GrepRequest, GrepResult } from '../domain/search-tools.ts';
import type {
  EditRequest,
  EditResult,
  ReadRequest,
  ReadResult,
  WriteRequest,
  WriteResult,
} from '../domain/tools.ts';
import type { ToolOperations } from './engine.ts';
import type { Operation, Outcome } from './operation.ts';
import type { Operations } from './operations.ts';
import { startBash } from './tools/bash.ts';
import { editTool } from './tools/edit.ts';
import { gitSubject, runGit } from './tools/git.ts';
import { glob } from './tools/glob.ts';
import { grep } from './tools/grep.ts';
import { readTool } from './tools/read.ts';
import { writeTool } from './tools/write.ts';

export class Tools implements ToolOperations {
  readonly #operations: Operations;
  readonly #clock: Clock;
  readonly #leaving: AbortSignal;

  /** `leaving` aborts when the server stops waiting for running commands. */
  constructor(operations: Operations, clock: Clock, leaving: AbortSignal) {
    this.#operations = operations;
    this.#clock = clock;
    this.#leaving = leaving;
  }

  async bash(
    caller: Caller,
    id: string,
    request: BashRequest,
    signal: AbortSignal,
  ): Promise<AsyncIterable<BashEvent>> {
    const operation = await this.#operations.begin(caller, id, 'bash', request.command);
    const processId = randomUUID();
    const outcome: { -readonly [K in keyof Outcome]: Outcome[K] } = { process_id: processId };
    try {
      const events = await startBash(request, {
        ...operation.target,
        processId,
        clock: this.#clock,
        signal,
        leaving: this.#leaving,
        wasInterrupted: async () => (await this.#operations.leftReady(id)) !== undefined,
      });
      const noted = noteExit(events, (exitCode) => (outcome.exit_code = exitCode));
      return operation.around(noted, undefined, () => outcome);
    } catch (error) {
      throw await operation.failed(error, outcome);
    }
  }

  async bashResult(
    caller: Caller,
    id: string,
    request: BashRequest,
    signal: AbortSignal,
  ): Promise<BashResult> {
    let result: BashResult | undefined;
    // Read to the end: the operation ends with its events.
    for await (const event of await this.bash(caller, id, request, signal)) {
      if (event.type === 'result') result = event.result;
    }
    if (result) return result;
    throw new EmergentError('sandbox_unreachable', 'the command ended without a result');
  }

  glob(caller: Caller, id: string, request: GlobRequest, signal: AbortSignal): Promise<GlobResult> {
    return this.#operations.run(caller, id, 'glob', request.pattern, (target) =>
      glob(target, request, signal),
    );
  }

  grep(caller: Caller, id: string, request: GrepRequest, signal: AbortSignal): Promise<GrepResult> {
    return this.#operations.run(caller, id, 'grep', request.pattern, (target) =>
      grep(target, request, signal),
    );
  }

  git(caller: Caller, id: string, request: GitRequest, signal: AbortSignal): Promise<GitResult> {
    return this.#operations.run(caller, id, 'git', gitSubject(request), (target) =>
      runGit(target, request, signal),
    );
  }

  async readFile(
    caller: Caller,
    id: string,
    path: string,
    signal: AbortSignal,
  ): Promise<FileContent> {
    const operation = await this.#operations.begin(caller, id, 'read_file', path);
    const file = await this.#orFail(operation, ({ provider, ref }) =>
      provider.readFile(ref, path, signal),
    );
    return { ...file, content: operation.around(file.content, signal) };
  }

  writeFile(
    caller: Caller,
    id: string,
    path: string,
    content: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<FileInfo> {
    return this.#operations.run(caller, id, 'write_file', path, ({ provider, ref }) =>
      provider.writeFile(ref, path, content, signal),
    );
  }

  read(caller: Caller, id: string, request: ReadRequest, signal: AbortSignal): Promise<ReadResult> {
    return this.#operations.run(caller, id, 'read', request.path, (target) =>
      readTool(target, request, signal),
    );
  }

  write(
    caller: Caller,
    id: string,
    request: WriteRequest,
    signal: AbortSignal,
  ): Promise<WriteResult> {
    return this.#operations.run(caller, id, 'write', request.path, (target) =>
      writeTool(target, request, signal),
    );
  }

  edit(caller: Caller, id: string, request: EditRequest, signal: AbortSignal): Promise<EditResult> {
    return this.#operations.run(caller, id, 'edit', request.path, (target) =>
      editTool(target, request, signal),
    );
  }

  async #orFail<T>(
    operation: Operation,
    work: (target: Operation['target']) => Promise<T>,
  ): Promise<T> {
    try {
      return await work(operation.target);
    } catch (error) {
      throw await operation.failed(error);
    }
  }
}

async function* noteExit(
  events: AsyncIterable<BashEvent>,
  note: (exitCode: number) => void,
): AsyncGenerator<BashEvent> {
  for await (const event of events) {
    if (event.type === 'result') note(event.result.exitCode);
    yield event;
  }
}
