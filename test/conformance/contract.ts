import { expect } from 'vitest';
import type { WorkspaceProvider } from '../../src/domain/provider.ts';
import { verifies } from '../support/verifies.ts';
import type { Bench } from './provider.ts';
import { TestSandbox, newSpec, soon } from './sandbox.ts';

const methods = [
  'create',
  'destroy',
  'stop',
  'resume',
  'exec',
  'readFile',
  'writeFile',
  'health',
  'capabilities',
] as const satisfies readonly (keyof WorkspaceProvider)[];

export function contractTests(bench: Bench): void {
  verifies(
    ['orchestration/all-providers-implement-the-same-interface'],
    'has the nine methods of the contract',
    (context) => {
      bench.guard(context);
      const provider = bench.provider();
      expect(provider.name).toMatch(/^[a-z][a-z0-9-]*$/);
      expect(methods.map((method) => typeof provider[method])).toEqual(
        methods.map(() => 'function'),
      );
    },
  );

  verifies(
    ['orchestration/provider-capabilities-reporting'],
    'reports features, requirements, a measured start and what is free',
    async (context) => {
      bench.guard(context);
      const capabilities = await bench.provider().capabilities();
      expect(capabilities).toEqual({
        isolation: expect.stringMatching(/^(microvm|gvisor|container|none)$/) as unknown,
        features: {
          persistence: expect.any(Boolean) as unknown,
          snapshots: expect.any(Boolean) as unknown,
          warmPool: bench.provider().warm !== undefined,
          processes: bench.provider().processes !== undefined,
          terminals: expect.any(Boolean) as unknown,
          tools: bench.provider().toolProgram !== undefined,
          list: bench.provider().list !== undefined,
          stats: bench.provider().stats !== undefined,
          tunnels: bench.provider().dial !== undefined,
        },
        requires: expect.any(Array) as unknown,
        startupMs: expect.any(Number) as unknown,
        available: capabilities.available && {
          cpu: expect.any(Number) as unknown,
          memoryBytes: expect.any(Number) as unknown,
        },
      });
      for (const need of capabilities.requires)
        expect(['kvm', 'docker', 'network']).toContain(need);
      expect(capabilities.startupMs).toBeGreaterThanOrEqual(0);
      expect(capabilities.available?.cpu ?? 1).toBeGreaterThanOrEqual(0);
      expect(capabilities.available?.memoryBytes ?? 1).toBeGreaterThan(0);
    },
  );

  bench.test('is healthy, with details', async () => {
    const health = await bench.provider().health(soon());
    expect(health).toEqual({ state: 'healthy', details: expect.any(Object) as unknown });
  });

  bench.test('create says what it granted and how it isolates', async () => {
    const provider = bench.provider();
    const spec = newSpec(bench.image());
    await using sandbox = new TestSandbox(provider, spec);
    const created = await provider.create(sandbox.spec, soon());
    expect(created.limits).toEqual(spec.limits);
    const { isolation } = await provider.capabilities();
    expect(created.metadata).toMatchObject({ isolation });
  });
}
