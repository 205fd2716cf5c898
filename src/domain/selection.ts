import type { ProviderCapabilities, ProviderHealth } from './provider.ts';
import type { ContainerType, DeploymentMode } from './workspace.ts';

/** What is known of a provider when a workspace is asked for. */
export interface Candidate {
  readonly name: string;
  readonly isolation: ProviderCapabilities['isolation'];
  /** Its sandboxes run at somebody else's, who ends them when their time is over. */
  readonly managed: boolean;
  readonly health: ProviderHealth;
  /** It failed a create a moment ago. */
  readonly coolingDown?: CoolingDown;
}

export interface CoolingDown {
  /** Why the create failed. */
  readonly reason: string;
  /** How long from now it is still passed over. */
  readonly forMs: number;
}

export interface LeftOut {
  readonly name: string;
  readonly reason: string;
}

/** `order` is tried from the front; every provider not in it is in `leftOut`, with the reason. */
export interface Selection {
  readonly order: readonly string[];
  readonly leftOut: readonly LeftOut[];
  /** Of each provider in the order, for people: why it may serve, and stands where it does. */
  readonly why: ReadonlyMap<string, string>;
}

/** What a caller may say about the choice; what is left out takes the server's default. */
export interface SelectionRequest {
  /** A provider's name, or "auto". */
  readonly provider?: string;
  readonly containerType?: ContainerType;
  readonly deploymentMode?: DeploymentMode;
}

/** A decision, for people. */
export interface SelectionExplained {
  /** The one that was asked for by name, which nothing replaces; or "auto". */
  readonly provider: string;
  readonly containerType: ContainerType;
  readonly deploymentMode: DeploymentMode;
  /** Tried from the front, each with why it stands where it does. */
  readonly order: readonly { readonly name: string; readonly why: string }[];
  readonly leftOut: readonly LeftOut[];
}

export interface SelectionRules {
  readonly allowUnsandboxed: boolean;
  readonly containerType: ContainerType;
  readonly deploymentMode: DeploymentMode;
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

/**
 * Which providers may serve an automatic choice, the best for this type of container first; where the deployment is
 * managed, a managed one before all others. Equals keep the order in which they were given.
 */
export function selectProviders(
  candidates: readonly Candidate[],
  rules: SelectionRules,
): Selection {
  const leftOut = new Map<string, string>();
  const able = candidates.filter((candidate) => {
    const reason = whyNot(candidate, rules);
    if (reason !== undefined) leftOut.set(candidate.name, reason);
    return reason === undefined;
  });
  const [sandboxes, others] = [
    able.filter(({ isolation }) => isSandbox(isolation)),
    able.filter(({ isolation }) => !isSandbox(isolation)),
  ];
  const chosen = [...restedIfAny(sandboxes, leftOut), ...restedIfAny(others, leftOut)];
  chosen.sort((a, b) => rankOf(a, rules) - rankOf(b, rules));
  return {
    order: chosen.map(({ name }) => name),
    leftOut: candidates.flatMap(({ name }) => {
      const reason = leftOut.get(name);
      return reason === undefined ? [] : [{ name, reason }];
    }),
    why: new Map(chosen.map((candidate) => [candidate.name, whyThere(candidate, rules)])),
  };
}

/**
 * Without those that cool down, unless that leaves none: a host with one provider is better served by another try
 * than by half a minute of refusals. Asked apart for sandboxes and for what is none, so that one failed create never
 * puts the next workspace where nothing but the host's kernel holds it.
 */
function restedIfAny(
  equals: readonly Candidate[],
  leftOut: Map<string, string>,
): readonly Candidate[] {
  const rested = equals.filter(({ coolingDown }) => coolingDown === undefined);
  if (rested.length === 0) return equals;
  for (const { name, coolingDown } of equals) {
    if (coolingDown) leftOut.set(name, coolingText(coolingDown));
  }
  return rested;
}

/** Sandboxes before what is none, then managed ones before this host's own, then by the type of container. */
function rankOf({ managed, isolation }: Candidate, rules: SelectionRules): number {
  return (
    (isSandbox(isolation) ? 0 : 100) +
    (managed ? 0 : 10) +
    preferences[rules.containerType][isolation]
  );
}

function whyNot(candidate: Candidate, rules: SelectionRules): string | undefined {
  if (candidate.health.state !== 'healthy') return candidate.health.reason;
  if (candidate.managed && rules.containerType === 'mcp_server') {
    return 'MCP servers run for good, which a managed provider does not allow';
  }
  if (candidate.managed && rules.deploymentMode === 'self-hosted') {
    return "the deployment mode is self-hosted, and it runs workspaces at somebody else's";
  }
  if (!isSandbox(candidate.isolation) && !rules.allowUnsandboxed) {
    return 'not a sandbox; allowed only by WORKSPACE_ALLOW_UNSANDBOXED=true';
  }
  return undefined;
}

function whyThere(candidate: Candidate, rules: SelectionRules): string {
  const why = candidate.managed
    ? 'the deployment mode is managed: it takes nothing of this host'
    : whyRanked[rules.containerType][candidate.isolation];
  return candidate.coolingDown
    ? `${why}; ${coolingText(candidate.coolingDown)}, but no other of its kind can serve`
    : why;
}

const unsandboxed = {
  container: "the last resort, allowed by the operator: it shares the host's kernel",
  none: 'allowed by the operator: it isolates nothing',
} as const;

const whyRanked: Readonly<Record<ContainerType, Readonly<Record<Candidate['isolation'], string>>>> =
  {
    agent_workspace: {
      microvm: 'the strongest isolation: a virtual machine with a kernel of its own',
      gvisor: 'a sandbox with a kernel of its own, on any host',
      ...unsandboxed,
    },
    mcp_server: {
      gvisor: 'preferred for MCP servers: a sandbox that idles at little cost',
      microvm: 'second for MCP servers: a virtual machine holds on to all of its memory',
      ...unsandboxed,
    },
  };

function coolingText({ reason, forMs }: CoolingDown): string {
  const seconds = String(Math.ceil(forMs / 1000));
  return `it failed a create and is passed over for another ${seconds} s: ${reason}`;
}
