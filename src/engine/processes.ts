import { randomUUID } from 'node:crypto';
import type { Caller } from '../domain/caller.ts';
import { EmergentError } from '../domain/errors.ts';
import type { AttachOptions, OutputEvent, ProcessInfo, ProcessSignal } from '../domain/exec.ts';
import type { WorkspaceProvider } from '../domain/provider.ts';
import type { SandboxProcesses } from '../domain/sandbox-processes.ts';
import type { DetachedRequest, ProcessOperations } from './engine.ts';
import type { Operations } from './operations.ts';
import { withShell } from './tools/shell.ts';

/** Commands that outlive their callers. Looking is not a use: only starting, reading and signalling are. */
export class Processes implements ProcessOperations {
  readonly #operations: Operations;

  constructor(operations: Operations) {
    this.#operations = operations;
  }

  async start(
    caller: Caller,
    id: string,
    request: DetachedRequest,
    signal: AbortSignal,
  ): Promise<ProcessInfo> {
    const processId = randomUUID();
    return this.#operations.run(
      caller,
      id,
      'start_process',
      request.command,
      ({ provider, ref, workspace }) =>
        withShell(workspace, (shell) =>
          processesOf(provider).start(
            ref,
            {
              argv: [shell, '-c', request.command],
              id: processId,
              ...(request.workdir !== undefined && { workdir: request.workdir }),
              ...(request.env && { env: request.env }),
            },
            signal,
          ),
        ),
      () => ({ process_id: processId }),
    );
  }

  async list(caller: Caller, id: string, signal: AbortSignal): Promise<readonly ProcessInfo[]> {
    const { provider, ref } = await this.#operations.look(caller, id);
    return this.#operations.explained(id, () => processesOf(provider).list(ref, signal));
  }

  async get(
    caller: Caller,
    id: string,
    processId: string,
    signal: AbortSignal,
  ): Promise<ProcessInfo> {
    const found = (await this.list(caller, id, signal)).find((each) => each.id === processId);
    if (found) return found;
    throw new EmergentError('process_not_found', `workspace ${id} has no process ${processId}`);
  }

  async attach(
    caller: Caller,
    id: string,
    processId: string,
    options: AttachOptions,
    signal: AbortSignal,
  ): Promise<AsyncIterable<OutputEvent>> {
    const operation = await this.#operations.begin(caller, id, 'attach_process', processId);
    const outcome = { process_id: processId };
    try {
      const { provider, ref } = operation.target;
      const events = await processesOf(provider).attach(ref, processId, options, signal);
      return operation.around(events, signal, () => outcome);
    } catch (error) {
      throw await operation.failed(error, outcome);
    }
  }

  async signal(
    caller: Caller,
    id: string,
    processId: string,
    name: ProcessSignal,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#operations.run(
      caller,
      id,
      'signal_process',
      name,
      ({ provider, ref }) => processesOf(provider).signal(ref, processId, name, signal),
      () => ({ process_id: processId }),
    );
  }
}

function processesOf(provider: WorkspaceProvider): SandboxProcesses {
  if (provider.processes) return provider.processes;
  throw new EmergentError(
    'unsupported',
    `${provider.name} does not keep processes to come back to`,
  );
}
