import type { Config } from '../config.ts';
import type { HostFacts } from '../main.ts';
import { note } from './terminal/output.ts';

/** Without isolation nothing of the host is used. */
const demoHost: HostFacts = {
  image: 'demo',
  dockerSocket: null,
  agentPaths: null,
  runtime: { state: 'absent', reason: 'the demo has no isolation', remedy: 'unset EMERGENT_DEMO' },
};

/**
 * Prepares this host for the server, as far as the settings allow. What could not be prepared does not keep the
 * server from starting: its providers say what is missing, and recover when it is there.
 */
export async function hostFacts(config: Config, signal: AbortSignal): Promise<HostFacts> {
  if (config.demo) return demoHost;
  const { prepareHost } = await import('../host/setup/prepare.ts');
  const host = await prepareHost({ forTests: false, skip: config.skipSetup, signal });
  if (host.failures.length > 0) {
    const names = host.failures.map(({ name }) => name).join(', ');
    note(`emergent: not ready: ${names}. \`emergent doctor\` says why and what to do.`);
  }
  return host;
}
