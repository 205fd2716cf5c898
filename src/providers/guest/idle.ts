import { createClient } from '@connectrpc/connect';
import type { Transport } from '@connectrpc/connect';
import { toEmergentError } from './errors.ts';
import { Agent } from './gen/emergent/agent/v1/agent_pb.ts';

/** Whether anything goes on in a sandbox, as its agent tells it. */
export interface GuestIdle {
  /** Besides the agent and its bridges. */
  readonly processes: number;
  /** Open ones of anybody, other than those that only look. */
  readonly requests: number;
  /** How long ago the last of them ended. */
  readonly quietMs: number;
}

export async function guestIdle(transport: Transport, signal: AbortSignal): Promise<GuestIdle> {
  try {
    const said = await createClient(Agent, transport).idle({}, { signal });
    return { ...said, quietMs: Number(said.quietMs) };
  } catch (error) {
    throw toEmergentError(error, 'asking whether the sandbox is idle');
  }
}
