import { describe, expect, test } from 'vitest';
import type { SelectionExplained, SelectionRequest } from '../../../src/domain/selection.ts';
import type { Providers } from '../../../src/engine/providers.ts';
import { explainSelection } from '../../../src/engine/providers/explain.ts';
import { verifies } from '../../support/verifies.ts';
import { unhealthy } from './support/fake-provider.ts';
import { e2b, firecracker, gvisor, setUpProviders } from './support/watched-providers.ts';

const settings = {
  allowUnsandboxed: false,
  defaults: { deploymentMode: 'self-hosted' },
} as const;

const explain = (providers: Providers, request: SelectionRequest): Promise<SelectionExplained> =>
  explainSelection(providers, request, settings);

const names = ({ order }: SelectionExplained): readonly string[] => order.map(({ name }) => name);

describe('the choice for a request', () => {
  verifies(
    ['orchestration/self-hosted-deployment-with-kvm-available'],
    'self-hosted with KVM: the microVM',
    async () => {
      const { providers } = setUpProviders([gvisor(), firecracker(), e2b()]);
      const decision = await explain(providers, { deploymentMode: 'self-hosted' });
      expect(names(decision)).toEqual(['firecracker', 'gvisor']);
      expect(decision.leftOut).toEqual([
        { name: 'e2b', reason: expect.stringContaining('self-hosted') as unknown },
      ]);
    },
  );

  verifies(
    ['orchestration/self-hosted-deployment-without-kvm'],
    'self-hosted without KVM: gVisor',
    async () => {
      const { providers } = setUpProviders([gvisor(), firecracker('without KVM')]);
      const decision = await explain(providers, { deploymentMode: 'self-hosted' });
      expect(names(decision)).toEqual(['gvisor']);
      expect(decision.leftOut).toEqual([{ name: 'firecracker', reason: 'KVM unavailable' }]);
    },
  );

  verifies(
    ['orchestration/managed-deployment-with-e2b-configured'],
    'managed with E2B: E2B, then what this host has',
    async () => {
      const { providers } = setUpProviders([gvisor(), firecracker(), e2b()]);
      const decision = await explain(providers, { deploymentMode: 'managed' });
      expect(names(decision)).toEqual(['e2b', 'firecracker', 'gvisor']);
    },
  );

  verifies(
    ['orchestration/managed-deployment-without-e2b'],
    'managed without E2B: as self-hosted',
    async () => {
      const unconfigured = [{ name: 'e2b', reason: 'E2B_API_KEY is not set', remedy: 'Set it.' }];
      const { providers } = setUpProviders([gvisor(), firecracker()], { unconfigured });
      const decision = await explain(providers, { deploymentMode: 'managed' });
      expect(names(decision)).toEqual(['firecracker', 'gvisor']);
      expect(decision.leftOut).toEqual([{ name: 'e2b', reason: 'E2B_API_KEY is not set' }]);
    },
  );

  verifies(
    [
      'orchestration/agent-workspace-defaults-to-firecracker',
      'orchestration/mcp-server-defaults-to-gvisor',
    ],
    'an agent workspace prefers the microVM, an MCP server gVisor, each with why',
    async () => {
      const { providers } = setUpProviders([gvisor(), firecracker()]);
      const [agent, server] = [
        await explain(providers, {}),
        await explain(providers, { containerType: 'mcp_server' }),
      ];
      expect(agent).toMatchObject({
        provider: 'auto',
        containerType: 'agent_workspace',
        deploymentMode: 'self-hosted',
        order: [
          { name: 'firecracker', why: expect.stringContaining('strongest') as unknown },
          { name: 'gvisor' },
        ],
      });
      expect(server).toMatchObject({
        containerType: 'mcp_server',
        order: [
          { name: 'gvisor', why: expect.stringContaining('MCP servers') as unknown },
          { name: 'firecracker' },
        ],
      });
    },
  );
});

describe('a provider asked for by name', () => {
  test('is the only one, and nothing takes its place', async () => {
    const { providers } = setUpProviders([gvisor(), firecracker()]);
    expect(await explain(providers, { provider: 'gvisor' })).toMatchObject({
      provider: 'gvisor',
      order: [{ name: 'gvisor', why: expect.stringContaining('no other is tried') as unknown }],
      leftOut: [{ name: 'firecracker', reason: 'only gvisor was asked for' }],
    });
  });

  test('is left out with its reason where it cannot be used now', async () => {
    const broken = gvisor();
    broken.health.mockResolvedValue(unhealthy('no engine'));
    const { providers } = setUpProviders([broken]);
    expect(await explain(providers, { provider: 'gvisor' })).toMatchObject({
      order: [],
      leftOut: [{ name: 'gvisor', reason: 'no engine' }],
    });
  });

  test('is refused where nobody knows it', async () => {
    const { providers } = setUpProviders([gvisor()]);
    await expect(explain(providers, { provider: 'nonsense' })).rejects.toMatchObject({
      code: 'provider_unknown',
    });
  });
});
