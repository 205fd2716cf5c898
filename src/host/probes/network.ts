import type { Engine } from '../docker/engine.ts';
import { asRoot } from '../network.ts';
import { run } from '../run.ts';
import type { Finding } from './check.ts';

const otherwise =
  'workspaces with network "isolated" work; WORKSPACE_ALLOW_UNFILTERED_NETWORK=true allows "nat" all the same';

/** Whether rules can be set that keep workspaces with network `nat` from this host and its private networks. */
export async function lookAtWorkspaceNetwork(
  engine: Engine | undefined,
  signal: AbortSignal,
): Promise<Finding> {
  if (!engine) {
    return { state: 'missing', reason: 'needs the Docker engine', remedy: 'see Docker engine' };
  }
  if (!engine.local) {
    return {
      state: 'reduced',
      reason: 'network "nat" is refused: the engine runs elsewhere, where no rules can be set',
      remedy: `run the server on the engine's own host; ${otherwise}`,
      details: { filter: 'none' },
    };
  }
  const options = { timeoutMs: 5_000, signal };
  const listing = await asRoot(run)(['iptables', '-w', '2', '-S'], options);
  if (!listing.ok) {
    return {
      state: 'reduced',
      reason: `network "nat" is refused: no rules can be set: ${listing.failure ?? ''}`,
      remedy: `install iptables, and run the server as root; ${otherwise}`,
      details: { filter: 'none' },
    };
  }
  const installed = /^-A INPUT -i \S+ -j EMERGENT-INPUT-\w+$/m.test(listing.stdout);
  return {
    state: 'ok',
    reason: installed
      ? 'rules keep workspaces from this host and from private networks'
      : 'rules can be set; they come with the first workspace that has a network',
    details: { filter: 'iptables', installed },
  };
}
