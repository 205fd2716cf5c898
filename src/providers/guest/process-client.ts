import { Code, ConnectError } from '@connectrpc/connect';
import type { Client } from '@connectrpc/connect';
import { EmergentError } from '../../domain/errors.ts';
import type { ProcessSignal } from '../../domain/exec.ts';
import { toEmergentError } from './errors.ts';
import type { Process, ProcessEvent } from './gen/process/process_pb.ts';
import { Signal } from './gen/process/process_pb.ts';

export type ProcessClient = Client<typeof Process>;
export type EventStream = AsyncIterable<{ readonly event?: ProcessEvent | undefined }>;

/** Which process of the agent is meant. */
export interface Selector {
  readonly selector:
    | { readonly case: 'tag'; readonly value: string }
    | { readonly case: 'pid'; readonly value: number };
}

const callTimeoutMs = 10_000;

/** By its id where it has one: a pid comes back one day, and is another's then. */
export function selectorOf(id: string | undefined, pid: number): Selector {
  return id === undefined ? { selector: { case: 'pid', value: pid } } : byId(id);
}

export function byId(id: string): Selector {
  return { selector: { case: 'tag', value: id } };
}

/** One short call, with its deadline and its failure in our words. */
export async function shortCall<T>(
  doing: string,
  call: (options: { timeoutMs: number; signal?: AbortSignal }) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  try {
    return await call({ timeoutMs: callTimeoutMs, ...(signal && { signal }) });
  } catch (error) {
    throw processError(error, doing, signal);
  }
}

export async function sendSignal(
  client: ProcessClient,
  process: Selector,
  name: ProcessSignal,
  signal?: AbortSignal,
): Promise<void> {
  await shortCall(
    `sending ${name}`,
    (options) => client.sendSignal({ process, signal: Signal[name] }, options),
    signal,
  );
}

/** As `ExecProcess.end` says. The agent sees it through, also when the link breaks meanwhile. */
export async function endGroup(
  client: ProcessClient,
  process: Selector,
  graceMs: number,
): Promise<void> {
  try {
    const request = { process, signal: Signal.SIGTERM, graceMs };
    await client.sendSignal(request, { timeoutMs: graceMs + callTimeoutMs });
  } catch (error) {
    throw processError(error, 'ending a command');
  }
}

/** For calls that name a process: what the agent does not find is that process. */
export function processError(error: unknown, doing: string, signal?: AbortSignal): unknown {
  if (signal?.aborted === true) return signal.reason;
  if (error instanceof ConnectError && error.code === Code.NotFound) {
    return new EmergentError('process_not_found', `${doing}: ${error.rawMessage}`, {
      cause: error,
    });
  }
  return toEmergentError(error, doing);
}
