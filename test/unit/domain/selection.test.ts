import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ProviderHealth } from '../../../src/domain/provider.ts';
import { selectProviders } from '../../../src/domain/selection.ts';
import type { Candidate, SelectionRules } from '../../../src/domain/selection.ts';
import type { ContainerType } from '../../../src/domain/workspace.ts';
import { verifies } from '../../support/verifies.ts';

const strongestFirst = ['microvm', 'gvisor', 'container', 'none'] as const;
const healthy: ProviderHealth = { state: 'healthy', details: {} };
const broken: ProviderHealth = {
  ...{ state: 'unhealthy', reason: 'no engine', remedy: 'Start it.', details: {} },
};

const anyHealth = fc.oneof(
  fc.constant(healthy),
  fc.record({
    state: fc.constantFrom('unhealthy' as const, 'absent' as const),
    reason: fc.string({ minLength: 1 }),
    remedy: fc.string(),
    details: fc.constant({}),
  }),
);
const anyCandidates: fc.Arbitrary<Candidate[]> = fc.uniqueArray(
  fc.record({
    name: fc.string({ minLength: 1 }),
    isolation: fc.constantFrom(...strongestFirst),
    managed: fc.boolean(),
    health: anyHealth,
  }),
  { selector: (candidate) => candidate.name },
);

function rulesFor(
  allowUnsandboxed: boolean,
  containerType: ContainerType = 'agent_workspace',
): SelectionRules {
  return { allowUnsandboxed, containerType };
}

function rank(candidates: readonly Candidate[], name: string): number {
  const found = candidates.find((candidate) => candidate.name === name);
  return found ? strongestFirst.indexOf(found.isolation) : Number.NaN;
}

describe('selectProviders', () => {
  test('every provider is either in the order or left out with a reason, never both', () => {
    fc.assert(
      fc.property(anyCandidates, fc.boolean(), (candidates, allowUnsandboxed) => {
        const { order, leftOut } = selectProviders(candidates, rulesFor(allowUnsandboxed));
        const named = [...order, ...leftOut.map(({ name }) => name)];
        expect(named.toSorted()).toEqual(candidates.map(({ name }) => name).toSorted());
        for (const { reason } of leftOut) expect(reason).not.toBe('');
      }),
    );
  });

  test('exactly the healthy ones that are allowed are in the order, strongest isolation first', () => {
    fc.assert(
      fc.property(anyCandidates, fc.boolean(), (candidates, allowUnsandboxed) => {
        const { order } = selectProviders(candidates, rulesFor(allowUnsandboxed));
        const expected = candidates
          .filter(({ health }) => health.state === 'healthy')
          .filter(({ isolation }) => allowUnsandboxed || strongestFirst.indexOf(isolation) < 2);
        expect(order.toSorted()).toEqual(expected.map(({ name }) => name).toSorted());
        const ranks = order.map((name) => rank(candidates, name));
        expect(ranks).toEqual(ranks.toSorted((a, b) => a - b));
      }),
    );
  });

  test('equals keep the order in which they were given', () => {
    const candidates = ['b', 'a', 'c'].map((name): Candidate => ({
      ...{ name, isolation: 'gvisor', managed: false, health: healthy },
    }));
    expect(selectProviders(candidates, rulesFor(false)).order).toEqual(['b', 'a', 'c']);
  });

  test('a broken provider is left out with its own reason, a weak one with the way to allow it', () => {
    const candidates: Candidate[] = [
      { name: 'docker', isolation: 'container', managed: false, health: healthy },
      { name: 'gvisor', isolation: 'gvisor', managed: false, health: broken },
      { name: 'weak and broken', isolation: 'none', managed: false, health: broken },
      { name: 'firecracker', isolation: 'microvm', managed: false, health: healthy },
    ];
    const strict = selectProviders(candidates, rulesFor(false));
    expect(strict.order).toEqual(['firecracker']);
    expect(strict.leftOut).toEqual([
      {
        name: 'docker',
        reason: expect.stringContaining('WORKSPACE_ALLOW_UNSANDBOXED=true') as unknown,
      },
      { name: 'gvisor', reason: 'no engine' },
      { name: 'weak and broken', reason: 'no engine' },
    ]);
    const lax = selectProviders(candidates, rulesFor(true));
    expect(lax.order).toEqual(['firecracker', 'docker']);
  });

  verifies(
    ['gvisor/default-mcp-server-creation-uses-gvisor'],
    'an MCP server goes to gVisor first, then to a microVM of our own, and never to a managed one',
    () => {
      const candidates: Candidate[] = [
        { name: 'e2b', isolation: 'microvm', managed: true, health: healthy },
        { name: 'firecracker', isolation: 'microvm', managed: false, health: healthy },
        { name: 'gvisor', isolation: 'gvisor', managed: false, health: healthy },
      ];
      const { order, leftOut } = selectProviders(candidates, rulesFor(false, 'mcp_server'));
      expect(order).toEqual(['gvisor', 'firecracker']);
      expect(leftOut).toMatchObject([{ name: 'e2b' }]);
      const agents = selectProviders(candidates, rulesFor(false));
      expect(agents.order).toEqual(['e2b', 'firecracker', 'gvisor']);
    },
  );
});
