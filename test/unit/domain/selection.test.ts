import { describe, expect, test } from 'vitest';
import { selectProviders } from '../../../src/domain/selection.ts';
import type { Candidate, SelectionRules } from '../../../src/domain/selection.ts';
import { verifies } from '../../support/verifies.ts';
import { broken, candidate, cooling, healthy, rules } from './support/candidates.ts';

const all = [candidate('docker'), candidate('gvisor'), candidate('firecracker'), candidate('e2b')];

function orderOf(
  candidates: readonly Candidate[],
  changes: Partial<SelectionRules> = {},
): readonly string[] {
  return selectProviders(candidates, rules(changes)).order;
}

function reasonFor(
  name: string,
  candidates: readonly Candidate[],
  changes: Partial<SelectionRules> = {},
): string | undefined {
  const { leftOut } = selectProviders(candidates, rules(changes));
  return leftOut.find((one) => one.name === name)?.reason;
}

describe('the order', () => {
  verifies(
    [
      'orchestration/agent-workspace-defaults-to-firecracker',
      'orchestration/self-hosted-deployment-with-kvm-available',
    ],
    'self-hosted: a microVM, then gVisor',
    () => {
      expect(orderOf(all)).toEqual(['firecracker', 'gvisor']);
    },
  );

  verifies(
    ['orchestration/managed-deployment-with-e2b-configured'],
    'managed: a managed one, then as self-hosted',
    () => {
      expect(orderOf(all, { deploymentMode: 'managed' })).toEqual(['e2b', 'firecracker', 'gvisor']);
    },
  );

  verifies(
    [
      'orchestration/mcp-server-defaults-to-gvisor',
      'gvisor/default-mcp-server-creation-uses-gvisor',
    ],
    'an MCP server goes to gVisor first, then to a microVM of our own, and never to a managed one',
    () => {
      for (const deploymentMode of ['self-hosted', 'managed'] as const) {
        const asked = { containerType: 'mcp_server', deploymentMode } as const;
        expect(orderOf(all, asked)).toEqual(['gvisor', 'firecracker']);
        expect(reasonFor('e2b', all, asked)).toContain('MCP servers run for good');
      }
    },
  );

  test('what is no sandbox comes last, and only where the operator allows it', () => {
    expect(orderOf(all, { allowUnsandboxed: true })).toEqual(['firecracker', 'gvisor', 'docker']);
    expect(reasonFor('docker', all)).toContain('WORKSPACE_ALLOW_UNSANDBOXED=true');
  });

  test('equals keep the order in which they were given', () => {
    const equals = ['b', 'a', 'c'].map((name) => ({ ...candidate('gvisor'), name }));
    expect(orderOf(equals)).toEqual(['b', 'a', 'c']);
  });

  test('each place in it is explained', () => {
    const { why } = selectProviders(all, rules({ deploymentMode: 'managed' }));
    expect([...why.keys()]).toEqual(['e2b', 'firecracker', 'gvisor']);
    expect(why.get('e2b')).toContain('the deployment mode is managed');
    expect(why.get('firecracker')).toContain('strongest isolation');
  });
});

describe('left out', () => {
  test('is a broken one, with its own reason, whatever else would rule it out', () => {
    expect(orderOf([candidate('gvisor', broken)])).toEqual([]);
    expect(reasonFor('gvisor', [candidate('gvisor', broken)])).toBe('no engine');
    expect(reasonFor('docker', [candidate('docker', broken)])).toBe('no engine');
    expect(reasonFor('e2b', [candidate('e2b', broken)])).toBe('no engine');
  });

  test('is a managed one where the deployment is self-hosted', () => {
    expect(reasonFor('e2b', all)).toContain('the deployment mode is self-hosted');
  });
});

describe('a provider that failed a create a moment ago', () => {
  const coolingVm = candidate('firecracker', healthy, cooling);
  const coolingGvisor = candidate('gvisor', healthy, cooling);

  test('is passed over, with the reason and for how long', () => {
    const candidates = [coolingVm, candidate('gvisor')];
    expect(orderOf(candidates)).toEqual(['gvisor']);
    expect(reasonFor('firecracker', candidates)).toBe(
      'it failed a create and is passed over for another 13 s: no space left',
    );
  });

  test('is taken all the same where no other can serve', () => {
    const { order, leftOut, why } = selectProviders(
      [candidate('firecracker', broken), coolingGvisor],
      rules(),
    );
    expect(order).toEqual(['gvisor']);
    expect(leftOut).toEqual([{ name: 'firecracker', reason: 'no engine' }]);
    expect(why.get('gvisor')).toMatch(/no space left.*no other of its kind/);
    expect(orderOf([coolingGvisor, coolingVm])).toEqual(['firecracker', 'gvisor']);
  });

  test('is not taken where it is broken as well', () => {
    expect(orderOf([candidate('gvisor', broken, cooling)])).toEqual([]);
  });

  test('makes no way for what is no sandbox', () => {
    const candidates = [candidate('docker'), coolingGvisor];
    expect(orderOf(candidates, { allowUnsandboxed: true })).toEqual(['gvisor', 'docker']);
  });
});
