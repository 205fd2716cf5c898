import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import type Docker from 'dockerode';
import { kinds, labels } from './container-spec.ts';
import { engineCall, engineStatus } from './docker.ts';

const callMs = 10_000;
/** Used where the host's own name servers cannot be reached from a sandbox (a stub on loopback). */
const publicNameservers = ['1.1.1.1', '8.8.8.8'];

/**
 * One bridge for all workspaces with network `nat` on an engine: traffic between its members is off, and a
 * network for each would run the engine out of address ranges at about thirty.
 */
const name = 'emergent-nat';

export async function ensureNatNetwork(docker: Docker, signal: AbortSignal): Promise<string> {
  const call = <T>(work: (abortSignal: AbortSignal) => Promise<T>): Promise<T> =>
    engineCall('preparing the workspace network', callMs, work, signal);
  try {
    await call(() => docker.getNetwork(name).inspect());
    return name;
  } catch (error) {
    if (engineStatus(error) !== 404) throw error;
  }
  try {
    await call((abortSignal) =>
      docker.createNetwork({
        Name: name,
        Driver: 'bridge',
        CheckDuplicate: true,
        Labels: { [labels.kind]: kinds.network },
        Options: { 'com.docker.network.bridge.enable_icc': 'false' },
        abortSignal,
      }),
    );
  } catch (error) {
    // Another server on this engine was faster.
    if (engineStatus(error) !== 409) throw error;
  }
  return name;
}

/** The host's name servers without those that only the host itself can reach. */
export async function hostNameservers(resolvConf = '/etc/resolv.conf'): Promise<readonly string[]> {
  const text = await readFile(resolvConf, 'utf8').catch(() => '');
  const found = [...text.matchAll(/^nameserver\s+(\S+)/gm)].flatMap((match) => match[1] ?? []);
  const reachable = found.filter(
    (address) => isIP(address) !== 0 && !/^(127\.|0\.|::1?$|fe80:)/i.test(address),
  );
  return reachable.length > 0 ? reachable : publicNameservers;
}
