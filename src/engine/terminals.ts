import { randomUUID } from 'node:crypto';
import type { Caller } from '../domain/caller.ts';
import { EmergentError } from '../domain/errors.ts';
import type { ExecRequest, OutputEvent, ProcessInfo, TerminalSize } from '../domain/exec.ts';
import type { SandboxProcesses } from '../domain/sandbox-processes.ts';
import type { Terminal, TerminalOperations, TerminalPlace, TerminalRequest } from './engine.ts';
import type { Operation, Outcome, Target } from './operation.ts';
import type { Operations } from './operations.ts';
import { withShell } from './tools/shell.ts';

/**
 * Commands with a terminal. Such a command is a detached process: it outlives connections and servers, and ends by
 * itself, by a signal or with its workspace; nobody ends it for being idle. Each attachment is an operation: while
 * somebody looks at a terminal, its workspace is in use.
 */
export class Terminals implements TerminalOperations {
  readonly #operations: Operations;

  constructor(operations: Operations) {
    this.#operations = operations;
  }

  async open(
    caller: Caller,
    id: string,
    request: TerminalRequest,
    signal: AbortSignal,
  ): Promise<Terminal> {
    const processId = randomUUID();
    const subject = request.command ?? 'shell';
    return this.#attached(caller, id, processId, subject, 0, signal, async (target) =>
      start(await terminalsOf(target), target, processId, request, signal),
    );
  }

  async attach(
    caller: Caller,
    id: string,
    processId: string,
    { offset, size }: TerminalPlace,
    signal: AbortSignal,
  ): Promise<Terminal> {
    return this.#attached(caller, id, processId, processId, offset, signal, async (target) => {
      const processes = await terminalsOf(target);
      const info = await find(processes, target, processId, signal);
      if (info.exit) return info;
      try {
        await processes.resize(target.ref, processId, size, signal);
        return info;
      } catch (error) {
        // It may have ended meanwhile; then there is still what it wrote.
        const now = await find(processes, target, processId, signal);
        if (now.exit) return now;
        throw error;
      }
    });
  }

  async #attached(
    caller: Caller,
    id: string,
    processId: string,
    subject: string,
    offset: number,
    signal: AbortSignal,
    find: (target: Target) => Promise<ProcessInfo>,
  ): Promise<Terminal> {
    const operation = await this.#operations.begin(caller, id, 'terminal', subject);
    const outcome: { -readonly [K in keyof Outcome]: Outcome[K] } = { process_id: processId };
    try {
      const { target } = operation;
      const { pid } = await find(target);
      const processes = await terminalsOf(target);
      const events = await processes.attach(
        target.ref,
        processId,
        { offset, follow: true },
        signal,
      );
      const noted = noteExit(events, (exitCode) => (outcome.exit_code = exitCode));
      return this.#terminal(
        { processId, pid, offset, events: operation.around(noted, signal, () => outcome) },
        operation,
        processes,
        signal,
      );
    } catch (error) {
      throw await operation.failed(error, outcome);
    }
  }

  #terminal(
    shown: Pick<Terminal, 'processId' | 'pid' | 'offset' | 'events'>,
    { target: { ref, workspace } }: Operation,
    processes: SandboxProcesses,
    signal: AbortSignal,
  ): Terminal {
    const { processId } = shown;
    const explained = (work: () => Promise<void>): Promise<void> =>
      this.#operations.explained(workspace.id, work);
    return {
      ...shown,
      input: (data) => explained(() => processes.input(ref, processId, data, signal)),
      resize: (size) => explained(() => processes.resize(ref, processId, size, signal)),
      signal: (name) => explained(() => processes.signal(ref, processId, name, signal)),
    };
  }
}

async function start(
  processes: SandboxProcesses,
  { ref, workspace }: Target,
  id: string,
  { command, workdir, env, size }: TerminalRequest,
  signal: AbortSignal,
): Promise<ProcessInfo> {
  const settings = {
    id,
    pty: size satisfies TerminalSize,
    ...(workdir !== undefined && { workdir }),
    ...(env && { env }),
  };
  const run = (argv: ExecRequest['argv']): Promise<ProcessInfo> =>
    processes.start(ref, { ...settings, argv }, signal);
  // Without a command the shell is told nothing, so that it reads its own settings.
  return withShell(workspace, (shell) =>
    run(command === undefined ? [shell] : [shell, '-c', command]),
  );
}

async function terminalsOf({ provider }: Target): Promise<SandboxProcesses> {
  const { features } = await provider.capabilities();
  if (features.terminals && provider.processes) return provider.processes;
  throw new EmergentError('unsupported', `${provider.name} has no terminals`);
}

async function find(
  processes: SandboxProcesses,
  { ref, workspace }: Target,
  id: string,
  signal: AbortSignal,
): Promise<ProcessInfo> {
  const found = (await processes.list(ref, signal)).find((each) => each.id === id);
  if (found) return found;
  throw new EmergentError('process_not_found', `workspace ${workspace.id} has no process ${id}`);
}

async function* noteExit(
  events: AsyncIterable<OutputEvent>,
  note: (exitCode: number) => void,
): AsyncGenerator<OutputEvent> {
  for await (const event of events) {
    if (event.type === 'exit') note(event.exitCode);
    yield event;
  }
}
