import { createClient } from '@connectrpc/connect';
import type { Transport } from '@connectrpc/connect';
import { toEmergentError, unlessOlder } from './errors.ts';
import { Agent } from './gen/emergent/agent/v1/agent_pb.ts';

/**
 * Commands that are started from now on have this environment, in place of what was given before. An agent of a
 * version that cannot do that is `unsupported`.
 */
export async function guestAdopt(
  transport: Transport,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<void> {
  try {
    await createClient(Agent, transport).adopt({ env }, { signal });
  } catch (error) {
    throw toEmergentError(unlessOlder(error), 'giving the sandbox its environment');
  }
}
