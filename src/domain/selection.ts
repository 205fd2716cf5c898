import type { ProviderCapabilities, ProviderHealth } from './provider.ts';

/** What is known of a provider when a workspace is asked for. */
export interface Candidate {
  readonly name: string;
  readonly isolation: ProviderCapabilities['isolation'];
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

/** Strongest first. Weaker than gVisor is no isolation from a hostile guest and needs the operator's word. */
const preference: Readonly<Record<Candidate['isolation'], number>> = {
  microvm: 0,
  gvisor: 1,
  container: 2,
  none: 3,
};
const weakestSandbox = preference.gvisor;

/** Which providers may serve an automatic choice, best isolation first. */
export function selectProviders(
  candidates: readonly Candidate[],
  options: { readonly allowUnsandboxed: boolean },
): Selection {
  const chosen: Candidate[] = [];
  const leftOut: LeftOut[] = [];
  for (const candidate of candidates) {
    const reason = whyNot(candidate, options.allowUnsandboxed);
    if (reason === undefined) chosen.push(candidate);
    else leftOut.push({ name: candidate.name, reason });
  }
  chosen.sort((a, b) => preference[a.isolation] - preference[b.isolation]);
  return { order: chosen.map((candidate) => candidate.name), leftOut };
}

function whyNot(candidate: Candidate, allowUnsandboxed: boolean): string | undefined {
  if (candidate.health.state !== 'healthy') return candidate.health.reason;
  if (preference[candidate.isolation] > weakestSandbox && !allowUnsandboxed) {
    return 'not a sandbox; allowed only by WORKSPACE_ALLOW_UNSANDBOXED=true';
  }
  return undefined;
}
