import type { Clock } from '../../base/clock.ts';
import { withDeadline } from '../../base/deadline.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { AttachOptions, ExecEnd, OutputEvent } from '../../domain/exec.ts';
import { isLinkFailure, linkFailureReason, toEmergentError } from './errors.ts';
import type { ProcessEvent } from './gen/process/process_pb.ts';
import type { OpenReaders } from './open-readers.ts';
import type { EventStream, ProcessClient, Selector } from './process-client.ts';
import { exitOf } from './process-exit.ts';

const openDeadlineMs = 15_000;
/** Pauses before each attempt to pick up a command's output again after the link broke. */
const reattachPausesMs = [0, 200, 500, 1_000, 2_000, 4_000] as const;
/** A link that held this long is not the one that keeps breaking. */
const steadyMs = 5_000;

export interface OutputSource {
  readonly client: ProcessClient;
  readonly process: Selector;
  readonly clock: Clock;
  readonly readers: OpenReaders;
}

/** What a reader is told, and whoever waits for the command's own end hears who is left behind. */
export type ToldOutput = OutputEvent | ExecEnd;

/** Asks the agent for a process's output; resolves when the agent has found the process. */
export async function openOutput(
  { client, process }: OutputSource,
  { offset, follow }: AttachOptions,
  signal: AbortSignal,
): Promise<EventStream> {
  const stream = client.connect({ process, offset: BigInt(offset), untilNow: !follow }, { signal });
  const events = stream[Symbol.asyncIterator]();
  await withDeadline('attaching to a command', openDeadlineMs, () => events.next(), signal);
  return rest(events);
}

/**
 * A process's output, first as `stream` brings it. If the link breaks, reading goes on at the same offset through
 * a new one, from the log that the agent keeps. Ends after the exit, or, not following, with what was there. The
 * reading belongs to this generator: it aborts `reading` when it is done, and fails with its reason when somebody
 * else does.
 */
export async function* readOutput(
  source: OutputSource,
  { offset: from, follow }: AttachOptions,
  first: EventStream,
  reading: AbortController,
): AsyncGenerator<ToldOutput> {
  const through = source.readers.begin();
  let offset = from;
  let stream = first;
  let failures = 0;
  try {
    for (;;) {
      const [openedAt, openedFrom] = [source.clock.monotonic(), offset];
      try {
        for await (const { event: message } of stream) {
          const event = translate(message, offset);
          if (event?.type === 'exit') {
            through();
            yield event;
            return;
          }
          if (!event) continue;
          offset = event.offset;
          yield event;
        }
        if (!follow) return;
        throw new EmergentError('sandbox_unreachable', 'the output ended without an exit code');
      } catch (error) {
        if (!isLinkFailure(error)) throw toEmergentError(error, 'reading output');
        const steady = offset > openedFrom || source.clock.monotonic() - openedAt >= steadyMs;
        if (steady) failures = 0;
        const options = { offset, follow };
        [stream, failures] = await reattach(source, options, reading.signal, error, failures);
      }
    }
  } finally {
    through();
    reading.abort();
  }
}

/** The stream of the same command from the offset on and the failures until then, or the reason why there is none. */
async function reattach(
  source: OutputSource,
  options: AttachOptions,
  signal: AbortSignal,
  why: unknown,
  failures: number,
): Promise<[stream: EventStream, failures: number]> {
  let reason = why;
  for (const [at, pause] of reattachPausesMs.entries()) {
    if (at < failures) continue;
    await source.clock.sleep(pause, signal);
    try {
      return [await openOutput(source, options, signal), at + 1];
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

/** `offset` is that of the event before. */
function translate(message: ProcessEvent | undefined, offset: number): ToldOutput | undefined {
  const event = message?.event;
  if (event?.case === 'end') {
    return { type: 'exit', ...exitOf(event.value), background: event.value.background };
  }
  if (event?.case === 'skipped' && event.value.bytes > 0n) {
    const bytes = Number(event.value.bytes);
    if (!Number.isSafeInteger(offset + bytes)) {
      throw new EmergentError('provider_failed', 'the agent counts more output than there can be');
    }
    return { type: 'skipped', bytes, offset: offset + bytes };
  }
  if (event?.case !== 'data' || event.value.output.case === undefined) return undefined;
  const { case: output, value: data } = event.value.output;
  const type = output === 'pty' ? 'stdout' : output;
  return data.length === 0 ? undefined : { type, data, offset: offset + data.length };
}

export async function* rest<T>(iterator: AsyncIterator<T>): AsyncGenerator<T> {
  for (;;) {
    const next = await iterator.next();
    if (next.done === true) return;
    yield next.value;
  }
}
