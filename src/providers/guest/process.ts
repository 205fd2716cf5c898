import type { Clock } from '../../base/clock.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { ExecEvent, ExecProcess, ExecRequest, ProcessSignal } from '../../domain/exec.ts';
import type { OpenReaders } from './open-readers.ts';
import { readOutput } from './output.ts';
import type { ToldOutput } from './output.ts';
import type { ProcessClient, Selector } from './process-client.ts';
import { endGroup, sendSignal, shortCall } from './process-client.ts';
import { startCommand } from './start.ts';

export interface GuestProcessOptions {
  readonly client: ProcessClient;
  readonly clock: Clock;
  readonly readers: OpenReaders;
}

/** A command whose caller stays with it; `signal` bounds the start only. */
export async function startProcess(
  options: GuestProcessOptions,
  request: ExecRequest,
  signal: AbortSignal,
): Promise<ExecProcess> {
  const { pid, process, events, reading } = await startCommand(
    options.client,
    request,
    false,
    signal,
  );
  const output = readOutput({ ...options, process }, { offset: 0, follow: true }, events, reading);
  return new GuestProcess(options.client, pid, process, wholeOutput(output));
}

/** A caller that stays is promised every byte. */
async function* wholeOutput(output: AsyncIterable<ToldOutput>): AsyncGenerator<ExecEvent> {
  for await (const event of output) {
    if (event.type === 'skipped') {
      throw new EmergentError(
        'provider_failed',
        `${String(event.bytes)} bytes of output were lost when the link to the sandbox broke`,
      );
    }
    yield event.type === 'exit' ? event : { type: event.type, data: event.data };
  }
}

class GuestProcess implements ExecProcess {
  readonly pid: number;
  readonly events: AsyncIterable<ExecEvent>;
  readonly #client: ProcessClient;
  readonly #process: Selector;

  constructor(
    client: ProcessClient,
    pid: number,
    process: Selector,
    events: AsyncIterable<ExecEvent>,
  ) {
    this.#client = client;
    this.pid = pid;
    this.#process = process;
    this.events = events;
  }

  async writeStdin(data: Uint8Array): Promise<void> {
    await shortCall('writing to standard input', (options) =>
      this.#client.sendInput(
        { process: this.#process, input: { input: { case: 'stdin', value: data } } },
        options,
      ),
    );
  }

  async closeStdin(): Promise<void> {
    await shortCall('closing standard input', (options) =>
      this.#client.closeStdin({ process: this.#process }, options),
    );
  }

  async kill(name: ProcessSignal): Promise<void> {
    await unlessEnded(sendSignal(this.#client, this.#process, name));
  }

  async end(graceMs: number): Promise<void> {
    await unlessEnded(endGroup(this.#client, this.#process, graceMs));
  }
}

/** One that has ended is what the caller wanted. */
async function unlessEnded(call: Promise<void>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof EmergentError && error.code === 'process_not_found')) throw error;
  }
}
