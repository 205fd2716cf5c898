import type Docker from 'dockerode';
import { reasonOf } from '../../../base/reason.ts';
import { kinds, labels } from '../container-spec.ts';
import { engineCall, engineStatus } from '../docker.ts';

const callMs = 10_000;

/**
 * One bridge for all workspaces with network `nat` on an engine: traffic between its members is off, and a
 * network for each would run the engine out of address ranges at about thirty.
 */
export const natNetworkName = 'emergent-nat';
const interfaceOption = 'com.docker.network.bridge.name';

/** Of the engine alone, so that the host's rules need not know the network's id; at most 15 characters. */
export function interfaceOf(engineTag: string): string {
  return `emergent-${engineTag}`;
}

/** The engine's network for workspaces, shared by every installation on it. */
export class NatBridge {
  readonly #docker: Docker;

  constructor(docker: Docker) {
    this.#docker = docker;
  }

  /** The interface of the network on the engine's host; undefined where there is no network. */
  async find(signal: AbortSignal): Promise<string | undefined> {
    const network = this.#docker.getNetwork(natNetworkName);
    try {
      const found: unknown = await call('looking at', () => network.inspect(), signal);
      const { Id: id, Options: options } = found as NetworkFacts;
      return options?.[interfaceOption] ?? `br-${id.slice(0, 12)}`;
    } catch (error) {
      if (engineStatus(error) === 404) return undefined;
      throw error;
    }
  }

  /** Makes the network where it is missing, and anew where it has another interface and nobody uses it. */
  async ensure(engineTag: string, signal: AbortSignal): Promise<string> {
    const wanted = interfaceOf(engineTag);
    const found = await this.find(signal);
    if (found === wanted) return found;
    if (found !== undefined) {
      if (await this.isUsed(signal)) return found;
      if ((await this.remove(signal)) !== undefined) return found;
    }
    await this.#create(wanted, signal);
    return (await this.find(signal)) ?? wanted;
  }

  /** By any container of anybody, also by one that is stopped: it could not be started without the network. */
  async isUsed(signal: AbortSignal): Promise<boolean> {
    const filters = { network: [natNetworkName] };
    const users = await call(
      'listing the users of',
      (abortSignal) => this.#docker.listContainers({ all: true, filters, abortSignal }),
      signal,
    );
    return users.length > 0;
  }

  /** Undefined: it is gone. Otherwise why not: it is used after all, or the engine believes so. */
  async remove(signal: AbortSignal): Promise<string | undefined> {
    const network = this.#docker.getNetwork(natNetworkName);
    try {
      await call(
        'removing',
        (abortSignal): Promise<unknown> => network.remove({ abortSignal }),
        signal,
      );
    } catch (error) {
      if (engineStatus(error) === 403 || engineStatus(error) === 409) return reasonOf(error);
      if (engineStatus(error) !== 404) throw error;
    }
  }

  async #create(interfaceName: string, signal: AbortSignal): Promise<void> {
    try {
      await call(
        'making',
        (abortSignal) =>
          this.#docker.createNetwork({
            Name: natNetworkName,
            Driver: 'bridge',
            CheckDuplicate: true,
            EnableIPv6: false,
            Labels: { [labels.kind]: kinds.network },
            Options: {
              [interfaceOption]: interfaceName,
              'com.docker.network.bridge.enable_icc': 'false',
            },
            abortSignal,
          }),
        signal,
      );
    } catch (error) {
      // Another server on this engine was faster.
      if (engineStatus(error) !== 409) throw error;
    }
  }
}

interface NetworkFacts {
  readonly Id: string;
  readonly Options?: Readonly<Record<string, string>> | null;
}

function call<T>(
  doing: string,
  work: (abortSignal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  return engineCall(`${doing} the workspace network`, callMs, work, signal);
}
