import fc from 'fast-check';
import type { ProviderHealth } from '../../../../src/domain/provider.ts';
import type { Candidate, CoolingDown, SelectionRules } from '../../../../src/domain/selection.ts';

export const healthy: ProviderHealth = { state: 'healthy', details: {} };
export const broken: ProviderHealth = {
  ...{ state: 'unhealthy', reason: 'no engine', remedy: 'Start it.', details: {} },
};
export const cooling: CoolingDown = { reason: 'no space left', forMs: 12_300 };

/** What a provider is apart from how it is. */
type Kind = Pick<Candidate, 'name' | 'isolation' | 'managed'>;
const kinds = {
  e2b: { name: 'e2b', isolation: 'microvm', managed: true },
  firecracker: { name: 'firecracker', isolation: 'microvm', managed: false },
  gvisor: { name: 'gvisor', isolation: 'gvisor', managed: false },
  docker: { name: 'docker', isolation: 'container', managed: false },
} as const satisfies Record<string, Kind>;

export function candidate(
  kind: keyof typeof kinds,
  health: ProviderHealth = healthy,
  coolingDown?: CoolingDown,
): Candidate {
  return { ...kinds[kind], health, ...(coolingDown && { coolingDown }) };
}

export function rules(changes: Partial<SelectionRules> = {}): SelectionRules {
  return {
    ...{ allowUnsandboxed: false, containerType: 'agent_workspace', deploymentMode: 'self-hosted' },
    ...changes,
  };
}

const anyHealth: fc.Arbitrary<ProviderHealth> = fc.oneof(
  { weight: 2, arbitrary: fc.constant(healthy) },
  {
    weight: 1,
    arbitrary: fc.record({
      state: fc.constantFrom('unhealthy' as const, 'absent' as const),
      reason: fc.string({ minLength: 1 }),
      remedy: fc.string(),
      details: fc.constant({}),
    }),
  },
);

const anyCandidate: fc.Arbitrary<Candidate> = fc.record(
  {
    name: fc.string({ minLength: 1 }),
    isolation: fc.constantFrom('microvm', 'gvisor', 'container', 'none'),
    managed: fc.boolean(),
    health: anyHealth,
    coolingDown: fc.record({ reason: fc.string(), forMs: fc.integer({ min: 1, max: 30_000 }) }),
  },
  { requiredKeys: ['name', 'isolation', 'managed', 'health'] },
);

export const anyCandidates: fc.Arbitrary<Candidate[]> = fc.uniqueArray(anyCandidate, {
  selector: ({ name }) => name,
  maxLength: 8,
});

export const anyRules: fc.Arbitrary<SelectionRules> = fc.record({
  allowUnsandboxed: fc.boolean(),
  containerType: fc.constantFrom('agent_workspace', 'mcp_server'),
  deploymentMode: fc.constantFrom('self-hosted', 'managed'),
});
