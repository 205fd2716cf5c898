import { isIPv4 } from 'node:net';
import { closedRanges } from './closed-ranges.ts';
import type { Chains, FilterTable } from './filter-table.ts';

/** The IPv4 rules for what comes from `bridge`, as input of `iptables-restore --noflush`. */
export function rules4(
  table: FilterTable,
  bridge: string,
  nameservers: readonly string[],
): readonly string[] {
  const { chains } = table;
  const open = new Set([...table.nameservers, ...nameservers.filter((address) => isIPv4(address))]);
  return [
    ...refusal(chains, { udp: 'icmp-port-unreachable', others: 'icmp-admin-prohibited' }),
    ...[...open].map((address) => `-A ${chains.dns} -d ${address}/32 -j ACCEPT`),
    // Only what the host itself has begun; by its direction, so that no connection that a workspace made while
    // the rules were missing goes on.
    `-A ${chains.input} -m conntrack --ctstate ESTABLISHED --ctdir REPLY -j RETURN`,
    ...toNameservers(chains, chains.input),
    `-A ${chains.input} -j ${chains.refuse}`,
    ...toNameservers(chains, chains.forward),
    // A published port of the host, whatever address it leads to.
    `-A ${chains.forward} -m conntrack --ctstate DNAT -j ${chains.refuse}`,
    `-A ${chains.forward} -o ${bridge} -j ${chains.refuse}`,
    ...closedRanges.map((range) => `-A ${chains.forward} -d ${range} -j ${chains.refuse}`),
  ];
}

/** The bridge has no IPv6, so whatever comes from it by IPv6 is refused. */
export function rules6({ chains }: FilterTable): readonly string[] {
  return [
    ...refusal(chains, { udp: 'icmp6-port-unreachable', others: 'icmp6-adm-prohibited' }),
    ...[chains.input, chains.forward].map((chain) => `-A ${chain} -j ${chains.refuse}`),
  ];
}

/** Replaces our chains and our jumps in one transaction; nothing of others is touched. */
export function installation(table: FilterTable, bridge: string, rules: readonly string[]): string {
  const { chains } = table;
  return transaction([
    ...declarations(chains),
    ...withoutJumps(table),
    ...rules,
    `-I INPUT 1 -i ${bridge} -j ${chains.input}`,
    ...table.forwardHooks.map((hook) => `-I ${hook} 1 -i ${bridge} -j ${chains.forward}`),
  ]);
}

export function removal(table: FilterTable): string {
  const { chains } = table;
  const names = [chains.input, chains.forward, chains.dns, chains.refuse];
  return transaction([
    ...declarations(chains),
    ...withoutJumps(table),
    ...names.map((name) => `-X ${name}`),
  ]);
}

/**
 * Programs in a workspace fail at once instead of waiting for an answer. The kernel sends only one ICMP error in a
 * second to the same address, so TCP is reset; of ICMP errors, gVisor's UDP sockets hear only of an unreachable
 * port.
 */
function refusal(
  chains: Chains,
  icmp: { readonly udp: string; readonly others: string },
): readonly string[] {
  return [
    `-A ${chains.refuse} -p tcp -j REJECT --reject-with tcp-reset`,
    `-A ${chains.refuse} -p udp -j REJECT --reject-with ${icmp.udp}`,
    `-A ${chains.refuse} -j REJECT --reject-with ${icmp.others}`,
  ];
}

function toNameservers(chains: Chains, chain: string): readonly string[] {
  return ['udp', 'tcp'].map((protocol) => `-A ${chain} -p ${protocol} --dport 53 -j ${chains.dns}`);
}

/** Makes a chain that is missing, and empties one that is there. */
function declarations(chains: Chains): readonly string[] {
  const { input, forward, dns, refuse } = chains;
  return [input, forward, dns, refuse].map((name) => `:${name} - [0:0]`);
}

function withoutJumps(table: FilterTable): readonly string[] {
  return table.jumps.map((text) => `-D ${text}`);
}

function transaction(lines: readonly string[]): string {
  return `${['*filter', ...lines, 'COMMIT'].join('\n')}\n`;
}
