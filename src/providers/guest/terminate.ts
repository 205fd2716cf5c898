import { createClient } from '@connectrpc/connect';
import type { Client, Transport } from '@connectrpc/connect';
import { DeadlineError, withDeadline } from '../../base/deadline.ts';
import { EmergentError } from '../../domain/errors.ts';
import { toEmergentError, unlessOlder } from './errors.ts';
import { Agent } from './gen/emergent/agent/v1/agent_pb.ts';
import type { GuestLink } from './link.ts';
import type { OpenReaders } from './open-readers.ts';

const reachDeadlineMs = 3_000;
/** What the agent takes beyond the grace: killing what is left, and last words to readers. */
const beyondGraceMs = 5_000;
const lastWordsMs = 1_000;

export interface TerminateOptions {
  readonly link: GuestLink;
  readonly transport: Transport;
  readonly readers: OpenReaders;
}

/**
 * Ends everything that runs in a sandbox, which takes no more commands, and returns when this host's readers have
 * heard of it, so that the link may be closed. A sandbox that does not answer is given up early: its caller has other
 * means.
 */
export function terminate(
  options: TerminateOptions,
  graceMs: number,
  signal: AbortSignal,
): Promise<void> {
  return ended(options, graceMs, signal, (agent, until) => agent.terminate({ graceMs }, until));
}

/** The same for a sandbox that goes on. An agent of a version that cannot do that is `unsupported`. */
export function endAll(
  options: TerminateOptions,
  graceMs: number,
  signal: AbortSignal,
): Promise<void> {
  return ended(options, graceMs, signal, async (agent, until) => {
    try {
      await agent.endAll({ graceMs }, until);
    } catch (error) {
      throw unlessOlder(error);
    }
  });
}

async function ended(
  { link, transport, readers }: TerminateOptions,
  graceMs: number,
  signal: AbortSignal,
  ask: (agent: Client<typeof Agent>, options: { signal: AbortSignal }) => Promise<unknown>,
): Promise<void> {
  const doing = 'ending what runs in the sandbox';
  try {
    await reach(link, signal);
    await withDeadline(
      doing,
      graceMs + beyondGraceMs,
      (until) => ask(createClient(Agent, transport), { signal: until }),
      signal,
    );
  } catch (error) {
    throw toEmergentError(error, doing);
  }
  await readers.through(lastWordsMs);
}

async function reach(link: GuestLink, signal: AbortSignal): Promise<void> {
  try {
    await withDeadline('reaching the sandbox', reachDeadlineMs, () => link.reach(), signal);
  } catch (error) {
    throw error instanceof DeadlineError
      ? new EmergentError('sandbox_unreachable', error.message, { cause: error })
      : error;
  }
}
