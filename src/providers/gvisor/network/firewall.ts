import { FilterTable, chainsOf } from './filter-table.ts';
import type { HostNetwork } from './host-network.ts';
import { installation, removal, rules4, rules6 } from './rules.ts';

const commandMs = 10_000;
/** Seconds that a command waits for another one's lock on the tables. */
const tableWait = '5';

const bridgeFilters = ['iptables', 'ip6tables'].map(
  (name) => `/proc/sys/net/bridge/bridge-nf-call-${name}`,
);

/** No rules can be set here; the message says why. */
export class FirewallUnavailable extends Error {
  override readonly name = 'FirewallUnavailable';
}

type Family = 'iptables' | 'ip6tables';

/** The bridge of one engine's workspaces, and what its chains are named after. */
export interface Bridge {
  readonly interface: string;
  readonly engineTag: string;
}

/**
 * The host's rules for what comes from the workspaces' bridge. What was installed is remembered as the kernel
 * prints it, so that a look tells whether it is still all there.
 */
export class Firewall {
  readonly #host: HostNetwork;
  readonly #installed = new Map<Family, string>();

  constructor(host: HostNetwork) {
    this.#host = host;
  }

  /** Whether rules can be seen, and so set, here. Throws FirewallUnavailable. */
  async look(signal: AbortSignal): Promise<void> {
    await this.#tables('', signal);
  }

  /** True when rules that this process had installed were gone or changed. */
  async ensure(
    { interface: bridge, engineTag }: Bridge,
    nameservers: readonly string[],
    signal: AbortSignal,
  ): Promise<boolean> {
    const bridged = this.#ensureBridgeFilter(bridge, signal);
    bridged.catch(() => undefined);
    // Its reason comes first: without permission both fail, and only this one says so.
    const tables = await this.#tables(engineTag, signal);
    await bridged;
    let mended = false;
    for (const [family, table] of tables) {
      const known = this.#installed.get(family);
      const intact = known === `${bridge}\n${table.fingerprint}`;
      const open = new Set(table.nameservers);
      const complete = family === 'ip6tables' || rulesKnow(open, nameservers);
      if (intact && complete) continue;
      mended ||= known !== undefined && !intact;
      const rules = family === 'iptables' ? rules4(table, bridge, nameservers) : rules6(table);
      await this.#restore(family, installation(table, bridge, rules), signal);
      const now = await this.#list(family, engineTag, signal);
      this.#installed.set(family, `${bridge}\n${now.fingerprint}`);
    }
    return mended;
  }

  /** Takes the engine's chains and the jumps to them away; true when there were any. */
  async remove(engineTag: string, signal: AbortSignal): Promise<boolean> {
    let removed = false;
    for (const [family, table] of await this.#tables(engineTag, signal)) {
      this.#installed.delete(family);
      if (!table.hasOwn) continue;
      await this.#restore(family, removal(table), signal);
      removed = true;
    }
    return removed;
  }

  async #tables(engineTag: string, signal: AbortSignal): Promise<ReadonlyMap<Family, FilterTable>> {
    const [v4, v6] = await Promise.all([
      this.#list('iptables', engineTag, signal),
      this.#list('ip6tables', engineTag, signal).catch((error: unknown) =>
        this.#unlessNoIpv6(error, signal),
      ),
    ]);
    return new Map([['iptables', v4], ...(v6 ? [['ip6tables', v6] as const] : [])]);
  }

  async #list(family: Family, engineTag: string, signal: AbortSignal): Promise<FilterTable> {
    const listing = await this.#ok([family, '-w', tableWait, '-S'], signal);
    return new FilterTable(listing, chainsOf(engineTag));
  }

  /** A kernel without IPv6 needs no rules for it. */
  async #unlessNoIpv6(error: unknown, signal: AbortSignal): Promise<undefined> {
    const options = { timeoutMs: commandMs, signal };
    const { ok } = await this.#host.run(['test', '-e', '/proc/net/if_inet6'], options);
    if (ok) throw error;
  }

  async #restore(family: Family, input: string, signal: AbortSignal): Promise<void> {
    await this.#ok([`${family}-restore`, '-w', tableWait, '--noflush'], signal, input);
  }

  /**
   * A bridge that is not here belongs to an engine elsewhere (another machine, a virtual machine, a namespace of
   * its own), where our rules would not hold. Between members of the bridge they hold only if the kernel passes
   * bridged packets to them.
   */
  async #ensureBridgeFilter(bridge: string, signal: AbortSignal): Promise<void> {
    const options = { timeoutMs: commandMs, signal };
    const { stdout } = await this.#host.run(['cat', '/proc/net/dev', ...bridgeFilters], options);
    const lines = stdout.split('\n').map((line) => line.trim());
    if (!lines.some((line) => line.startsWith(`${bridge}:`))) {
      throw new FirewallUnavailable(
        `the engine's network has no interface ${bridge} here: the engine runs on another machine, in a ` +
          'virtual machine or in a network namespace of its own',
      );
    }
    if (lines.filter((line) => line === '1').length === bridgeFilters.length) return;
    const script = 'for file; do echo 1 >"$file" || exit 1; done';
    await this.#ok(['sh', '-c', script, 'sh', ...bridgeFilters], signal);
  }

  async #ok(argv: readonly string[], signal: AbortSignal, input?: string): Promise<string> {
    const options = { timeoutMs: commandMs, signal, ...(input !== undefined && { input }) };
    const { ok, stdout, failure } = await this.#host.run(argv, options);
    if (!ok) throw new FirewallUnavailable(failure ?? `${argv.join(' ')} failed`);
    return stdout;
  }
}

function rulesKnow(open: ReadonlySet<string>, nameservers: readonly string[]): boolean {
  return nameservers.every((address) => open.has(address) || address.includes(':'));
}
