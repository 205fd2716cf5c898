import type { ProviderCapabilities, ProviderHealth } from './provider.ts';
import type { ContainerType } from './workspace.ts';

/** What is known of a provider when a workspace is asked for. */
export interface Candidate {
  readonly name: string;
  readonly isolation: ProviderCapabilities['isolation'];
  /** Its sandboxes run at somebody else's, who ends them when their time is over. */
  readonly managed: boolean;
  readonly health: ProviderHealth;
}

export interface LeftOut {
  readonly name: string;
  readonly reason: string;
}

/** `order` is tried from the front; every provider not in it is in `leftOut`, with the reason. */
export interface Selection {
  readonly order: readonly string[];
  readonly leftOut: readonly LeftOut[];
}

export interface SelectionRules {
  readonly allowUnsandboxed: boolean;
  readonly containerType: ContainerType;
}

type Preference = Readonly<Record<Candidate['isolation'], number>>;

/** First those that are tried first. Weaker than gVisor is no isolation from a hostile guest. */
const preferences: Readonly<Record<ContainerType, Preference>> = {
  /** Strongest first. */
  agent_workspace: { microvm: 0, gvisor: 1, container: 2, none: 3 },
  /** They run for months, mostly idle, where a microVM holds on to all of its memory. */
  mcp_server: { gvisor: 0, microvm: 1, container: 2, none: 3 },
};

/** Whether it keeps a hostile guest from the host; anything less needs the operator's word. */
export function isSandbox(isolation: Candidate['isolation']): boolean {
  return isolation === 'microvm' || isolation === 'gvisor';
}

/** Which providers may serve an automatic choice, the best for this type of container first. */
export function selectProviders(
  candidates: readonly Candidate[],
  rules: SelectionRules,
): Selection {
  const chosen: Candidate[] = [];
  const leftOut: LeftOut[] = [];
  for (const candidate of candidates) {
    const reason = whyNot(candidate, rules);
    if (reason === undefined) chosen.push(candidate);
    else leftOut.push({ name: candidate.name, reason });
  }
  const preference = preferences[rules.containerType];
  chosen.sort((a, b) => preference[a.isolation] - preference[b.isolation]);
  return { order: chosen.map((candidate) => candidate.name), leftOut };
}

function whyNot(candidate: Candidate, rules: SelectionRules): string | undefined {
  if (candidate.health.state !== 'healthy') return candidate.health.reason;
  if (candidate.managed && rules.containerType === 'mcp_server') {
    return 'MCP servers run for good, which a managed provider does not allow';
  }
  if (!isSandbox(candidate.isolation) && !rules.allowUnsandboxed) {
    return 'not a sandbox; allowed only by WORKSPACE_ALLOW_UNSANDBOXED=true';
  }
  return undefined;
}
