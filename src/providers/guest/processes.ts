import { EmergentError } from '../../domain/errors.ts';
import type {
  AttachOptions,
  ExecRequest,
  OutputEvent,
  ProcessInfo,
  ProcessSignal,
  TerminalSize,
} from '../../domain/exec.ts';
import { openOutput, readOutput } from './output.ts';
import type { OutputSource, ToldOutput } from './output.ts';
import { byId, processError, sendSignal, shortCall } from './process-client.ts';
import { moment, processList } from './process-info.ts';
import type { GuestProcessOptions } from './process.ts';
import { startCommand } from './start.ts';

/** The processes of one sandbox that have an id: what `SandboxProcesses` of domain/provider.ts promises. */
export class GuestProcesses {
  readonly #options: GuestProcessOptions;

  constructor(options: GuestProcessOptions) {
    this.#options = options;
  }

  async start(
    request: ExecRequest & { readonly id: string },
    signal: AbortSignal,
  ): Promise<ProcessInfo> {
    const { pid, startedAtMs, reading } = await startCommand(
      this.#options.client,
      request,
      true,
      signal,
    );
    reading.abort();
    return {
      id: request.id,
      pid,
      argv: request.argv,
      detached: true,
      startedAt: moment(startedAtMs),
      endedAt: null,
      exit: null,
      outputBytes: 0,
      droppedBytes: 0,
    };
  }

  async list(signal: AbortSignal): Promise<readonly ProcessInfo[]> {
    const { processes } = await shortCall(
      'listing processes',
      (options) => this.#options.client.list({ ended: true }, options),
      signal,
    );
    return processList(processes);
  }

  /** `signal` ends the reading at any time, with its reason; whoever does not read to the end must use it. */
  async attach(
    id: string,
    options: AttachOptions,
    signal: AbortSignal,
  ): Promise<AsyncIterable<OutputEvent>> {
    const source: OutputSource = { ...this.#options, process: byId(id) };
    const reading = new AbortController();
    const stop = (): void => {
      reading.abort(signal.reason);
    };
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    reading.signal.addEventListener('abort', () => {
      signal.removeEventListener('abort', stop);
    });
    try {
      const stream = await openOutput(source, options, reading.signal);
      return outputOnly(readOutput(source, options, stream, reading));
    } catch (error) {
      reading.abort();
      throw processError(error, 'attaching to a process', signal);
    }
  }

  signal(id: string, name: ProcessSignal, signal: AbortSignal): Promise<void> {
    return sendSignal(this.#options.client, byId(id), name, signal);
  }

  /** The agent knows whether the process has a terminal or a standard input: the bytes go to what it has. */
  async input(id: string, data: Uint8Array, signal: AbortSignal): Promise<void> {
    await shortCall(
      'writing to a process',
      (options) =>
        this.#options.client.sendInput(
          { process: byId(id), input: { input: { case: 'stdin', value: data } } },
          options,
        ),
      signal,
    );
  }

  /** One that has no standard input, or none any more, has nothing to close. */
  async closeInput(id: string, signal: AbortSignal): Promise<void> {
    try {
      await shortCall(
        'closing the input of a process',
        (options) => this.#options.client.closeStdin({ process: byId(id) }, options),
        signal,
      );
    } catch (error) {
      if (!(error instanceof EmergentError && error.code === 'wrong_state')) throw error;
    }
  }

  async resize(id: string, size: TerminalSize, signal: AbortSignal): Promise<void> {
    await shortCall(
      'resizing a terminal',
      (options) => this.#options.client.update({ process: byId(id), pty: { size } }, options),
      signal,
    );
  }
}

/** Who comes later than the end is not told who was left behind then. */
async function* outputOnly(events: AsyncIterable<ToldOutput>): AsyncGenerator<OutputEvent> {
  for await (const event of events) {
    if (event.type !== 'exit') yield event;
    else yield { type: 'exit', exitCode: event.exitCode, signal: event.signal };
  }
}
