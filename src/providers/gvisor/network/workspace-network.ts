import { release } from 'node:os';
import type Docker from 'dockerode';
import type { Log } from '../../../base/log.ts';
import { reasonOf } from '../../../base/reason.ts';
import { Troubles } from '../../../base/troubles.ts';
import { untilAborted } from '../../../base/until-aborted.ts';
import { withDeadline } from '../../../base/deadline.ts';
import { EmergentError } from '../../../domain/errors.ts';
import type { CreatedSandbox, SandboxSpec } from '../../../domain/provider.ts';
import { interfaceOf, NatBridge } from './bridge.ts';
import { identify } from './engine-identity.ts';
import type { EngineIdentity } from './engine-identity.ts';
import { Firewall, FirewallUnavailable } from './firewall.ts';
import type { HostNetwork } from './host-network.ts';
import { hostNameservers } from './nameservers.ts';

const ensureMs = 30_000;
const lookMs = 10_000;
/** How long somebody who asks for the health waits for a first look. */
const patienceMs = 1_000;

export interface WorkspaceNetworkOptions {
  readonly docker: Docker;
  readonly dockerHost: string | undefined;
  readonly hostNetwork: HostNetwork;
  /** Lets workspaces have a network where no rules can be set. */
  readonly allowUnfilteredNetwork: boolean;
  /** Those given to workspaces; empty: the host's own. */
  readonly nameservers: readonly string[];
  readonly log: Log;
}

/** What keeps workspaces from the host and from private networks; `why` says why nothing does. */
export type NetworkFilter =
  { readonly kind: 'iptables' } | { readonly kind: 'none'; readonly why: string };

const remedy =
  "Run the server as root on the engine's own host, with iptables installed; or create the workspace with " +
  'network "isolated"; or set WORKSPACE_ALLOW_UNFILTERED_NETWORK=true to let workspaces reach the host and ' +
  'its private networks.';

/**
 * The network of workspaces with mode `nat`: the engine's bridge and the host's rules for it. Both are made when
 * the first such workspace starts, looked at before each further start and by every sweep, and taken away by the
 * sweep that finds no container on the bridge. Every installation on the engine shares them, so all changes are
 * made under the host's lock; engines of one host share nothing.
 */
export class WorkspaceNetwork {
  readonly #options: WorkspaceNetworkOptions;
  readonly #bridge: NatBridge;
  readonly #firewall: Firewall;
  readonly #troubles: Troubles;
  #ensuring: Promise<NetworkFilter> | undefined;
  #looking: Promise<void> | undefined;
  #known: NetworkFilter | undefined;
  /** The bridge is one of an earlier version: it goes when nobody uses it. */
  #outdated = false;
  #uses = 0;

  constructor(options: WorkspaceNetworkOptions) {
    this.#options = options;
    this.#bridge = new NatBridge(options.docker);
    this.#firewall = new Firewall(options.hostNetwork);
    this.#troubles = new Troubles(options.log);
  }

  /**
   * Starts a sandbox on the network it asks for; while that lasts, neither network nor rules are taken away. No
   * container may be started before `ready`, which fails for a `nat` one where nothing would keep it from the host,
   * unless that is allowed.
   */
  async start(
    spec: SandboxSpec,
    signal: AbortSignal,
    work: (ready: Promise<unknown>) => Promise<CreatedSandbox>,
  ): Promise<CreatedSandbox> {
    if (spec.network === 'isolated') return work(Promise.resolve());
    this.#uses += 1;
    try {
      const [created, filter] = await this.#unlessRemoved(
        () => this.#onNetwork(work, signal),
        signal,
      );
      return { ...created, metadata: { ...created.metadata, ...filterFacts(filter) } };
    } finally {
      this.#uses -= 1;
    }
  }

  /** For people who look at the provider's health: as last seen, which is nothing while a first look takes long. */
  async facts(signal: AbortSignal): Promise<Readonly<Record<string, string>>> {
    if (!this.#known) {
      const looking = this.#lookOnce();
      await withDeadline('a look at the rules', patienceMs, () => looking, signal).catch(
        () => undefined,
      );
    }
    return this.#known ? filterFacts(this.#known) : {};
  }

  /** Brings back rules that somebody has removed; removes all when nobody is on the network. */
  async sweep(signal: AbortSignal): Promise<void> {
    await using _lock = await this.#options.hostNetwork.lock(signal);
    const engine = await identify(this.#options.docker, signal);
    const bridge = await this.#bridge.find(signal);
    const used = this.#uses > 0 || (bridge !== undefined && (await this.#bridge.isUsed(signal)));
    if (used) {
      if (bridge !== undefined) this.#known = await this.#filterFor(bridge, engine, signal);
      return;
    }
    if (bridge !== undefined && !(await this.#removeBridge(signal))) return;
    // After the network: as long as that is there, somebody may be put on it.
    await this.#unlessUnavailable(async () => {
      this.#requireLocal(engine);
      await this.#firewall.remove(engine.tag, signal);
    });
    if (bridge !== undefined) {
      this.#options.log.info('the workspace network was removed: nobody uses it');
    }
  }

  /** An engine may go on counting a container that is gone, until its restart. */
  async #removeBridge(signal: AbortSignal): Promise<boolean> {
    const kept = await this.#bridge.remove(signal);
    if (kept !== undefined) {
      const message =
        'the engine does not let go of the workspace network, and shows no container on it; if that lasts, a ' +
        'restart of the engine helps';
      this.#troubles.note('bridge', message, kept);
      return false;
    }
    this.#troubles.over('bridge', 'the engine has let go of the workspace network');
    return true;
  }

  /** Beside the looking, as long as that is likely to find what was there before. */
  async #onNetwork<T>(
    work: (ready: Promise<unknown>) => Promise<T>,
    signal: AbortSignal,
  ): Promise<[T, NetworkFilter]> {
    const ready = this.#allowedFilter(signal);
    // What is put on an outdated bridge meanwhile would keep it.
    if (this.#known?.kind !== 'iptables' || this.#outdated) await ready;
    // Whoever works may fail before it asks.
    ready.catch(() => undefined);
    return [await work(ready), await ready];
  }

  async #allowedFilter(signal: AbortSignal): Promise<NetworkFilter> {
    const filter = await untilAborted(this.#ensureOnce(), signal);
    if (filter.kind === 'none' && !this.#options.allowUnfilteredNetwork) {
      throw unfiltered(filter.why);
    }
    return filter;
  }

  /** Another server's sweep may take the network away before our container is on it: then once more. */
  async #unlessRemoved<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const removed = await this.#bridge.find(signal).then(
        (bridge) => bridge === undefined,
        () => false,
      );
      if (!removed) throw error;
    }
    return work();
  }

  /** Those who ask while it is being done share it; no single caller's end cuts it off. */
  #ensureOnce(): Promise<NetworkFilter> {
    this.#ensuring ??= withDeadline('preparing the workspace network', ensureMs, (signal) =>
      this.#ensure(signal),
    ).finally(() => {
      this.#ensuring = undefined;
    });
    return this.#ensuring;
  }

  async #ensure(signal: AbortSignal): Promise<NetworkFilter> {
    await using _lock = await this.#options.hostNetwork.lock(signal);
    const engine = await identify(this.#options.docker, signal);
    const bridge = await this.#bridge.ensure(engine.tag, signal);
    this.#outdated = bridge !== interfaceOf(engine.tag);
    const filter = await this.#filterFor(bridge, engine, signal);
    this.#known = filter;
    return filter;
  }

  /** Goes on without those who wait for it; a failure is tried again by the next who asks. */
  #lookOnce(): Promise<void> {
    this.#looking ??= withDeadline('looking at the rules', lookMs, async (signal) => {
      const seen = await this.#unlessUnavailable(async () => {
        this.#requireLocal(await identify(this.#options.docker, signal));
        await this.#firewall.look(signal);
      });
      this.#known ??= seen;
    }).finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #filterFor(
    bridge: string,
    engine: EngineIdentity,
    signal: AbortSignal,
  ): Promise<NetworkFilter> {
    const { nameservers, log } = this.#options;
    const filter = await this.#unlessUnavailable(async () => {
      this.#requireLocal(engine);
      const open = nameservers.length > 0 ? nameservers : await hostNameservers();
      const mended = await this.#firewall.ensure(
        { interface: bridge, engineTag: engine.tag },
        open,
        signal,
      );
      if (mended) log.warn("the host's rules for workspaces had been changed and were put back");
    });
    if (filter.kind === 'none') {
      const message = 'no rules keep workspaces from the host and its private networks';
      this.#troubles.note('filter', message, filter.why);
    } else {
      this.#troubles.over('filter', 'workspaces are kept from the host and its private networks');
    }
    return filter;
  }

  async #unlessUnavailable(work: () => Promise<void>): Promise<NetworkFilter> {
    try {
      await work();
      return { kind: 'iptables' };
    } catch (error) {
      if (!(error instanceof FirewallUnavailable)) throw error;
      return { kind: 'none', why: reasonOf(error) };
    }
  }

  /** An interface of the same name may be here though the engine is elsewhere. */
  #requireLocal({ kernel }: EngineIdentity): void {
    const { dockerHost } = this.#options;
    if (dockerHost !== undefined && !dockerHost.startsWith('unix:')) {
      throw new FirewallUnavailable('the Docker engine is reached over the network');
    }
    if (kernel !== release()) {
      throw new FirewallUnavailable(`the Docker engine runs on another kernel (${kernel})`);
    }
  }
}

/** For people and programs: in a workspace's metadata and in the provider's details. */
export function filterFacts(filter: NetworkFilter): Readonly<Record<string, string>> {
  if (filter.kind !== 'none') return { network_filter: filter.kind };
  const warning = `workspaces with network "nat" can reach the host and its private networks: ${filter.why}`;
  return { network_filter: 'none', network_warning: warning };
}

function unfiltered(why: string): EmergentError {
  return new EmergentError(
    'provider_unavailable',
    `network "nat" cannot be kept from the host and its private networks: ${why}`,
    { hint: remedy },
  );
}
