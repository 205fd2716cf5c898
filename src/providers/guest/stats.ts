import { createClient } from '@connectrpc/connect';
import type { Transport } from '@connectrpc/connect';
import type { SandboxStats } from '../../domain/provider.ts';
import { toEmergentError } from './errors.ts';
import { Agent } from './gen/emergent/agent/v1/agent_pb.ts';

/** What only the sandbox itself can tell of its use. */
export type GuestStats = Pick<SandboxStats, 'memoryBytes' | 'processes'>;

export async function guestStats(transport: Transport, signal: AbortSignal): Promise<GuestStats> {
  try {
    const { memoryBytes, processes } = await createClient(Agent, transport).stats({}, { signal });
    return {
      memoryBytes: memoryBytes === undefined ? null : figure(memoryBytes),
      processes: processes ?? null,
    };
  } catch (error) {
    throw toEmergentError(error, 'asking the sandbox what it uses');
  }
}

/** A sandbox may say anything. */
function figure(bytes: bigint): number {
  return Math.min(Number(bytes), Number.MAX_SAFE_INTEGER);
}
