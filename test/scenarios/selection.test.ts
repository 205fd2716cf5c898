import { afterAll, beforeAll, describe, expect } from 'vitest';
import { openTestStore } from '../api/support/server.ts';
import type { TestStore } from '../api/support/server.ts';
import { verifies } from '../support/verifies.ts';
import { startOrchestra } from './support-orchestration.ts';

let store: TestStore;
beforeAll(async () => {
  store = await openTestStore();
});
afterAll(async () => {
  await store[Symbol.asyncDispose]();
});

const noKvm = 'KVM is not available: /dev/kvm cannot be opened';

describe('a self-hosted server chooses', () => {
  verifies(
    [
      'orchestration/self-hosted-deployment-with-kvm-available',
      'orchestration/agent-workspace-defaults-to-firecracker',
    ],
    'Firecracker where it is healthy',
    async () => {
      await using orchestra = await startOrchestra(store);
      const body = { provider: 'auto', deployment_mode: 'self-hosted' };
      expect((await orchestra.create(body)).provider).toBe('firecracker');
    },
  );

  verifies(
    ['orchestration/self-hosted-deployment-without-kvm'],
    'gVisor where Firecracker has no KVM',
    async () => {
      await using orchestra = await startOrchestra(store);
      orchestra.firecracker.breaks(noKvm, 'absent');
      await orchestra.clock.advance(35_000);
      const body = { provider: 'auto', deployment_mode: 'self-hosted' };
      expect((await orchestra.create(body)).provider).toBe('gvisor');
      expect(orchestra.firecracker.creates).toBe(0);
    },
  );

  verifies(
    ['orchestration/no-provider-specified-defaults-to-auto'],
    'the same when nothing is said of providers at all',
    async () => {
      await using orchestra = await startOrchestra(store);
      expect((await orchestra.create({})).provider).toBe('firecracker');
    },
  );
});

describe('a managed server chooses', () => {
  verifies(
    ['orchestration/managed-deployment-with-e2b-configured'],
    'E2B where it is configured',
    async () => {
      await using orchestra = await startOrchestra(store, 'managed');
      expect((await orchestra.create({ provider: 'auto' })).provider).toBe('e2b');
      // The same is asked of a self-hosted server by the request.
      await using own = await startOrchestra(store);
      expect((await own.create({ deployment_mode: 'managed' })).provider).toBe('e2b');
    },
  );

  verifies(
    ['orchestration/managed-deployment-without-e2b'],
    'as a self-hosted one where E2B is not configured: Firecracker, then gVisor',
    async () => {
      const unconfigured = [{ name: 'e2b', reason: 'no API key', remedy: 'Set E2B_API_KEY.' }];
      const options = { without: ['e2b'], unconfigured } as const;
      await using orchestra = await startOrchestra(store, 'managed', options);
      expect((await orchestra.create()).provider).toBe('firecracker');
      orchestra.firecracker.refusal = noKvm;
      expect((await orchestra.create()).provider).toBe('gvisor');
    },
  );
});

describe('health decides', () => {
  verifies(
    ['orchestration/healthy-provider-is-preferred', 'orchestration/provider-becomes-unhealthy'],
    'who is chosen: one that fails its check is passed over until one passes',
    async () => {
      await using orchestra = await startOrchestra(store);
      const { firecracker, clock, server } = orchestra;
      expect((await orchestra.create()).provider).toBe('firecracker');
      firecracker.breaks('the manager cannot be reached');
      await clock.advance(35_000);
      expect((await orchestra.create()).provider).toBe('gvisor');
      expect(firecracker.creates).toBe(1);
      const warned = server.recorded.entries().filter(({ level }) => level === 'warn');
      expect(JSON.stringify(warned)).toContain('the manager cannot be reached');
      firecracker.mend();
      await clock.advance(35_000);
      expect((await orchestra.create()).provider).toBe('firecracker');
      const { items } = await server.admin.json<{ items: { type: string; detail: unknown }[] }>(
        ...([200, 'GET', '/api/v1/events?type=provider.healthy,provider.unhealthy'] as const),
      );
      const [back, gone] = items;
      expect([gone?.type, back?.type]).toEqual(['provider.unhealthy', 'provider.healthy']);
      expect(gone?.detail).toMatchObject({
        ...{ provider: 'firecracker', reason: 'the manager cannot be reached' },
      });
    },
  );

  verifies(
    ['orchestration/provider-health-check-frequency'],
    'by a check of each provider every 30 seconds, whose result is kept in between',
    async () => {
      await using orchestra = await startOrchestra(store);
      const { firecracker, gvisor, e2b, clock } = orchestra;
      const all = [firecracker, gvisor, e2b];
      await orchestra.create();
      await orchestra.create();
      expect(all.map(({ probes }) => probes)).toEqual([1, 1, 1]);
      await clock.advance(34_000);
      expect(all.map(({ probes }) => probes)).toEqual([2, 2, 2]);
      // For the whole life of the server: 30 s, give or take a tenth.
      await clock.advance(3_600_000);
      for (const { probes } of all) {
        expect(probes).toBeGreaterThan(105);
        expect(probes).toBeLessThan(140);
      }
    },
  );
});
