import { isIPv4 } from 'node:net';

/** The chains for the workspaces of one engine: those of another on this host are nobody's business here. */
export interface Chains {
  readonly input: string;
  readonly forward: string;
  readonly dns: string;
  readonly refuse: string;
}

export function chainsOf(engineTag: string): Chains {
  const named = (what: string): string => `EMERGENT-${what}-${engineTag}`;
  return {
    input: named('INPUT'),
    forward: named('FORWARD'),
    dns: named('DNS'),
    refuse: named('REFUSE'),
  };
}

/** Into the chains of any engine; they are only for what comes from its own bridge. */
const anyJump = / -i \S+ -j EMERGENT-(?:INPUT|FORWARD)-[\da-f]{6}$/;
/** The engine keeps it first in FORWARD, and never empties it. */
const engineHook = 'DOCKER-USER';

interface Rule {
  readonly chain: string;
  /** As `iptables -S` prints it, from the chain on. */
  readonly text: string;
}

/** The filter table of one address family, as `iptables -S` printed it. */
export class FilterTable {
  readonly chains: Chains;
  readonly #own: readonly string[];
  readonly #rules: readonly Rule[];
  readonly #chains: readonly string[];

  constructor(listing: string, chains: Chains) {
    this.chains = chains;
    this.#own = Object.values(chains);
    const lines = listing.split('\n').map((line) => line.trim());
    this.#chains = lines.flatMap((line) => /^-[NP] (\S+)/.exec(line)?.[1] ?? []);
    this.#rules = lines.flatMap((line) => {
      const [, text, chain] = /^-A ((\S+) .*)$/.exec(line) ?? [];
      return text === undefined || chain === undefined ? [] : [{ chain, text }];
    });
  }

  /**
   * The chains whose first rule must be ours, so that we see every forwarded packet first. The engine keeps its
   * hook first when it puts its rules back; where that is not first now, both are needed until it is.
   */
  get forwardHooks(): readonly string[] {
    if (!this.#chains.includes(engineHook)) return ['FORWARD'];
    const [first] = this.#of('FORWARD').filter(({ text }) => !anyJump.test(text));
    return first?.text === `FORWARD -j ${engineHook}` ? [engineHook] : ['FORWARD', engineHook];
  }

  /** The rules of other chains that lead into ours. */
  get jumps(): readonly string[] {
    return this.#rules.filter((rule) => this.#isJump(rule)).map(({ text }) => text);
  }

  get hasOwn(): boolean {
    return this.#own.some((chain) => this.#chains.includes(chain)) || this.jumps.length > 0;
  }

  /** Name servers that some server on this host has opened. */
  get nameservers(): readonly string[] {
    return this.#of(this.chains.dns).flatMap(({ text }) => nameserverOf(text) ?? []);
  }

  /**
   * Everything that decides what becomes of a workspace's packets, for comparison: our rules, our jumps and
   * whether these come first. Name servers may be added at any time; anything else in their chain is odd.
   */
  get fingerprint(): string {
    const odd = (rule: Rule): boolean =>
      rule.chain !== this.chains.dns || nameserverOf(rule.text) === undefined;
    const rules = this.#rules.filter((rule) => this.#own.includes(rule.chain) && odd(rule));
    const hooks = ['INPUT', ...this.forwardHooks];
    const firsts = hooks.map((chain) => this.#firstOf(chain)?.text ?? chain);
    return [...rules.map(({ text }) => text), ...this.jumps, ...firsts].join('\n');
  }

  /** The jumps of other engines take none of our packets, and each keeps its own in front. */
  #firstOf(chain: string): Rule | undefined {
    return this.#of(chain).find((rule) => this.#isJump(rule) || !anyJump.test(rule.text));
  }

  #of(chain: string): readonly Rule[] {
    return this.#rules.filter((rule) => rule.chain === chain);
  }

  #isJump({ chain, text }: Rule): boolean {
    const target = / -[jg] (\S+)$/.exec(text)?.[1] ?? '';
    return this.#own.includes(target) && !this.#own.includes(chain);
  }
}

function nameserverOf(text: string): string | undefined {
  const address = /^\S+ -d (\S+)\/32 -j ACCEPT$/.exec(text)?.[1];
  return address !== undefined && isIPv4(address) ? address : undefined;
}
