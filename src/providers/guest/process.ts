import { createClient } from '@connectrpc/connect';
import type { Client, Transport } from '@connectrpc/connect';
import type { Clock } from '../../base/clock.ts';
import { withDeadline } from '../../base/deadline.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { ExecEvent, ExecProcess, ExecRequest, ProcessSignal } from '../../domain/exec.ts';
import { isLinkFailure, linkFailureReason, toEmergentError } from './errors.ts';
import { Process, Signal } from './gen/process/process_pb.ts';
import type { ProcessEvent } from './gen/process/process_pb.ts';

const startDeadlineMs = 15_000;
const callTimeoutMs = 10_000;
/** Pauses before each attempt to pick up a command's output again after the link broke. */
const reattachPausesMs = [0, 200, 500, 1_000, 2_000, 4_000] as const;

type ProcessClient = Client<typeof Process>;
type EventStream = AsyncIterable<{ readonly event?: ProcessEvent | undefined }>;

/** Starts a command through the agent; `signal` bounds the start only. */
export async function startProcess(
  transport: Transport,
  request: ExecRequest,
  clock: Clock,
  signal: AbortSignal,
): Promise<ExecProcess> {
  const client = createClient(Process, transport);
  const [cmd, ...args] = request.argv;
  const reading = new AbortController();
  const stream = client.start(
    {
      process: {
        cmd,
        args,
        envs: { ...request.env },
        ...(request.workdir !== undefined && { cwd: request.workdir }),
      },
      stdin: request.stdin ?? false,
    },
    { signal: reading.signal },
  );
  const started = confirmedStart(client, stream, reading, clock);
  try {
    return await withDeadline('starting a command', startDeadlineMs, () => started, signal);
  } catch (error) {
    void abandon(started, reading);
    throw toEmergentError(error, `starting ${cmd}`);
  }
}

async function confirmedStart(
  client: ProcessClient,
  stream: EventStream,
  reading: AbortController,
  clock: Clock,
): Promise<ExecProcess> {
  const events = stream[Symbol.asyncIterator]();
  const first = await events.next();
  const event = first.done === true ? undefined : first.value.event?.event;
  if (event?.case !== 'start') {
    throw new EmergentError('sandbox_unreachable', 'the agent did not confirm the start');
  }
  return new GuestProcess(client, event.value.pid, rest(events), reading, clock);
}

/** A command may start although its caller has given up; nobody would watch it, so it is ended. */
async function abandon(started: Promise<ExecProcess>, reading: AbortController): Promise<void> {
  try {
    const process = await withDeadline('an abandoned start', startDeadlineMs, () => started);
    await process.kill('SIGKILL');
  } catch {
    // It did not start, or the sandbox is gone: the caller has been told why.
  } finally {
    reading.abort();
  }
}

async function* rest<T>(iterator: AsyncIterator<T>): AsyncGenerator<T> {
  for (;;) {
    const next = await iterator.next();
    if (next.done === true) return;
    yield next.value;
  }
}

/**
 * A command that runs in the agent. Its output is read from the stream that started it; if the link breaks,
 * reading goes on at the same offset through a new one, from the log that the agent keeps.
 */
class GuestProcess implements ExecProcess {
  readonly pid: number;
  readonly events: AsyncIterable<ExecEvent>;
  readonly #client: ProcessClient;
  readonly #reading: AbortController;
  readonly #clock: Clock;
  #offset = 0;

  constructor(
    client: ProcessClient,
    pid: number,
    first: EventStream,
    reading: AbortController,
    clock: Clock,
  ) {
    this.#client = client;
    this.pid = pid;
    this.#reading = reading;
    this.#clock = clock;
    this.events = this.#follow(first);
  }

  async writeStdin(data: Uint8Array): Promise<void> {
    await this.#call('writing to standard input', (options) =>
      this.#client.sendInput(
        { process: this.#selector, input: { input: { case: 'stdin', value: data } } },
        options,
      ),
    );
  }

  async closeStdin(): Promise<void> {
    await this.#call('closing standard input', (options) =>
      this.#client.closeStdin({ process: this.#selector }, options),
    );
  }

  async kill(name: ProcessSignal): Promise<void> {
    try {
      await this.#call(`sending ${name}`, (options) =>
        this.#client.sendSignal({ process: this.#selector, signal: Signal[name] }, options),
      );
    } catch (error) {
      // The agent knows no such process: it has ended, which is what the caller wanted.
      if (error instanceof EmergentError && error.code === 'invalid_value') return;
      throw error;
    }
  }

  get #selector(): { selector: { case: 'pid'; value: number } } {
    return { selector: { case: 'pid', value: this.pid } };
  }

  async #call(
    doing: string,
    call: (options: { timeoutMs: number }) => Promise<unknown>,
  ): Promise<void> {
    try {
      await call({ timeoutMs: callTimeoutMs });
    } catch (error) {
      throw toEmergentError(error, doing);
    }
  }

  async *#follow(first: EventStream): AsyncGenerator<ExecEvent> {
    let stream = first;
    try {
      for (;;) {
        try {
          for await (const message of stream) {
            const event = this.#translate(message.event);
            if (event) yield event;
            if (event?.type === 'exit') return;
          }
          throw new EmergentError('sandbox_unreachable', 'the output ended without an exit code');
        } catch (error) {
          if (!isLinkFailure(error)) throw toEmergentError(error, 'reading output');
          stream = await this.#reattach(error);
        }
      }
    } finally {
      this.#reading.abort();
    }
  }

  /** The stream of the same command from the current offset, or the reason why there is none. */
  async #reattach(why: unknown): Promise<EventStream> {
    let reason = why;
    for (const pause of reattachPausesMs) {
      await this.#clock.sleep(pause, this.#reading.signal);
      try {
        const stream = this.#client.connect(
          { process: this.#selector, offset: BigInt(this.#offset) },
          { signal: this.#reading.signal },
        );
        const events = stream[Symbol.asyncIterator]();
        await withDeadline('reattaching to a command', startDeadlineMs, () => events.next());
        return rest(events);
      } catch (error) {
        reason = error;
        if (!isLinkFailure(error)) break;
      }
    }
    throw new EmergentError(
      'sandbox_unreachable',
      `the sandbox was lost while the command ran: ${linkFailureReason(reason)}`,
      { cause: reason },
    );
  }

  #translate(message: ProcessEvent | undefined): ExecEvent | undefined {
    const event = message?.event;
    if (event?.case === 'end') {
      const { exitCode, exited, status } = event.value;
      return { type: 'exit', exitCode, signal: exited ? null : signalName(status) };
    }
    if (event?.case === 'skipped' && event.value.bytes > 0n) {
      throw new EmergentError(
        'provider_failed',
        `${String(event.value.bytes)} bytes of output were lost when the link to the sandbox broke`,
      );
    }
    if (event?.case !== 'data' || event.value.output.case === undefined) return undefined;
    const { case: type, value: data } = event.value.output;
    this.#offset += data.length;
    return { type, data };
  }
}

/** What a sandbox says is untrusted: a name of the known form, or none. */
function signalName(status: string): string {
  return /^signal: (SIG[A-Z0-9+-]{1,12})$/.exec(status)?.[1] ?? 'unknown';
}
