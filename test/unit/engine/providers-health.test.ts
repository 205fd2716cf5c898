import { afterEach, describe, expect, test, vi } from 'vitest';
import { EmergentError } from '../../../src/domain/errors.ts';
import type { ProviderHealth } from '../../../src/domain/provider.ts';
import type { HealthChange } from '../../../src/engine/providers/health-changes.ts';
import { verifies } from '../../support/verifies.ts';
import { FakeProvider, unhealthy } from './support/fake-provider.ts';
import { agents, firecracker, gvisor, setUpProviders } from './support/watched-providers.ts';

const none = new Map<string, number>();
const never = new Promise<never>(() => undefined);

afterEach(() => {
  vi.useRealTimers();
});

describe('the health of a provider', () => {
  verifies(
    ['orchestration/provider-health-check-frequency'],
    'is asked at the start and every 30 seconds, and kept in between',
    async () => {
      const provider = gvisor();
      const { providers, clock } = setUpProviders([provider]);
      await using _ = providers;
      providers.start();
      await clock.advance(0);
      expect(provider.health).toHaveBeenCalledTimes(1);
      await clock.advance(29_999);
      await providers.select(agents);
      await providers.statuses(none);
      expect(provider.health).toHaveBeenCalledTimes(1);
      await clock.advance(1);
      expect(provider.health).toHaveBeenCalledTimes(2);
      expect(await providers.statuses(none)).toMatchObject([{ lastCheck: clock.now() }]);
      await clock.advance(300_000);
      expect(provider.health).toHaveBeenCalledTimes(12);
    },
  );

  test.each([
    [0, 27_000],
    [0.999_999, 33_000],
  ])('is asked up to a tenth sooner or later: %d', async (random, atMs) => {
    const provider = gvisor();
    const { providers, clock } = setUpProviders([provider], { random: () => random });
    await using _ = providers;
    providers.start();
    await clock.advance(0);
    await clock.advance(atMs - 10);
    expect(provider.health).toHaveBeenCalledTimes(1);
    await clock.advance(20);
    expect(provider.health).toHaveBeenCalledTimes(2);
  });

  test('is asked no less often where the answer takes its time', async () => {
    const provider = gvisor();
    const { providers, clock } = setUpProviders([provider]);
    await using _ = providers;
    providers.start();
    await clock.advance(0);
    const slow = Promise.withResolvers<ProviderHealth>();
    provider.health.mockReturnValueOnce(slow.promise);
    await clock.advance(40_000);
    expect(provider.health).toHaveBeenCalledTimes(2);
    slow.resolve(unhealthy());
    await clock.advance(0);
    await clock.advance(20_000);
    expect(provider.health).toHaveBeenCalledTimes(3);
  });

  test('is asked of each on its own: one that hangs delays no other', async () => {
    const [hanging, other] = [firecracker(), gvisor()];
    const { providers, clock } = setUpProviders([hanging, other]);
    await using _ = providers;
    providers.start();
    await clock.advance(0);
    hanging.health.mockReturnValue(never);
    await clock.advance(120_000);
    expect([hanging, other].map(({ health }) => health.mock.calls.length)).toEqual([2, 5]);
    expect(await providers.statuses(none)).toMatchObject([{ name: 'firecracker' }, {}]);
    expect((await providers.select(agents)).order).toEqual(['firecracker', 'gvisor']);
  });

  test('is no longer asked when the server stops, and nothing is told of it', async () => {
    const provider = gvisor();
    const { providers, clock, recorded, noted } = setUpProviders([provider]);
    providers.start();
    await clock.advance(0);
    provider.health.mockReturnValue(never);
    await clock.advance(30_000);
    await providers[Symbol.asyncDispose]();
    expect(provider.health.mock.lastCall?.[0].aborted).toBe(true);
    await clock.advance(300_000);
    expect(provider.health).toHaveBeenCalledTimes(2);
    expect(recorded.entries().filter(({ level }) => level !== 'info')).toEqual([]);
    expect(noted()).toEqual([]);
    await expect(providers.requireHealthy('gvisor')).rejects.toMatchObject({
      code: 'shutting_down',
    });
  });
});

describe('a change of health', () => {
  verifies(
    ['orchestration/provider-becomes-unhealthy'],
    'takes the provider out of the choice with a warning, and brings it back',
    async () => {
      const [vm, other] = [firecracker(), gvisor()];
      const { providers, clock, told, noted, events } = setUpProviders([vm, other]);
      await using _ = providers;
      providers.start();
      await clock.advance(0);
      vm.health.mockResolvedValue(unhealthy('the manager is unreachable'));
      await clock.advance(30_000);
      expect(await providers.select(agents)).toMatchObject({
        order: ['gvisor'],
        leftOut: [{ name: 'firecracker', reason: 'the manager is unreachable' }],
      });
      vm.health.mockResolvedValue({ state: 'healthy', details: {} });
      await clock.advance(30_000);
      expect((await providers.select(agents)).order).toEqual(['firecracker', 'gvisor']);
      expect(told()).toEqual([
        'info: a provider can run workspaces, firecracker',
        'info: a provider can run workspaces, gvisor',
        'warn: a provider cannot run workspaces, firecracker',
        'warn: a provider can run workspaces again, firecracker',
      ]);
      expect(noted()).toEqual([
        'firecracker: provider.unhealthy from healthy',
        'firecracker: provider.healthy from unhealthy',
      ]);
      expect(events.events[0]).toMatchObject({
        workspaceId: null,
        actor: 'health-monitor',
        detail: { reason: 'the manager is unreachable', remedy: 'Start it.' },
      });
    },
  );

  test('is found where the provider was absent at the start', async () => {
    const vm = firecracker('without KVM');
    const { providers, clock, told, noted } = setUpProviders([vm, gvisor()]);
    await using _ = providers;
    providers.start();
    await clock.advance(0);
    expect((await providers.select(agents)).order).toEqual(['gvisor']);
    vm.health.mockResolvedValue({ state: 'healthy', details: {} });
    await clock.advance(30_000);
    expect((await providers.select(agents)).order).toEqual(['firecracker', 'gvisor']);
    expect(told()[0]).toBe('debug: a provider is not used on this host, firecracker');
    expect(noted()).toEqual(['firecracker: provider.healthy from absent']);
  });

  test('is none where only the reason is another', async () => {
    const provider = gvisor();
    provider.health.mockResolvedValue(unhealthy('no engine'));
    const { providers, clock, told, noted } = setUpProviders([provider]);
    await using _ = providers;
    providers.start();
    await clock.advance(0);
    await clock.advance(30_000);
    provider.health.mockResolvedValue(unhealthy('no runtime'));
    await clock.advance(30_000);
    expect(told()).toEqual([
      'warn: a provider cannot run workspaces, gvisor',
      'debug: a provider cannot run workspaces for another reason, gvisor',
    ]);
    expect(noted()).toEqual([]);
  });

  test('is told to whoever listens, and one that throws hurts nobody', async () => {
    const provider = gvisor();
    const { providers, clock, told } = setUpProviders([provider]);
    await using _ = providers;
    const heard: HealthChange[] = [];
    providers.onChange(() => {
      throw new Error('listener');
    });
    const listening = providers.onChange((change) => heard.push(change));
    providers.start();
    await clock.advance(0);
    provider.health.mockResolvedValue(unhealthy());
    await clock.advance(30_000);
    listening[Symbol.dispose]();
    provider.health.mockResolvedValue({ state: 'healthy', details: {} });
    await clock.advance(30_000);
    expect(heard).toMatchObject([
      { provider: 'gvisor', from: null, health: { state: 'healthy' } },
      { provider: 'gvisor', from: 'healthy', health: { state: 'unhealthy' } },
    ]);
    expect(told().filter((line) => line.startsWith('error'))).toHaveLength(3);
  });

  test('is seen also where the database does not answer', async () => {
    const provider = gvisor();
    const recordNotice = vi.fn(() =>
      Promise.reject(new EmergentError('store_unavailable', 'no database')),
    );
    const { providers, clock, told } = setUpProviders([provider], { events: { recordNotice } });
    await using _ = providers;
    providers.start();
    await clock.advance(0);
    for (const health of [unhealthy(), { state: 'healthy', details: {} } as const]) {
      provider.health.mockResolvedValue(health);
      await clock.advance(30_000);
      expect(await providers.lastHealthOf('gvisor')).toEqual(health);
    }
    expect(recordNotice).toHaveBeenCalledTimes(2);
    expect(told()).toContain('warn: a change of health could not be recorded, gvisor');
  });

  test('is recorded before the server has stopped', async () => {
    const provider = gvisor();
    const written = Promise.withResolvers<void>();
    const recordNotice = vi.fn(() => written.promise);
    const { providers, clock } = setUpProviders([provider], { events: { recordNotice } });
    providers.start();
    await clock.advance(0);
    provider.health.mockResolvedValue(unhealthy());
    await clock.advance(30_000);
    const stopped = vi.fn();
    const stopping = providers[Symbol.asyncDispose]().then(stopped);
    await clock.advance(0);
    expect(recordNotice).toHaveBeenCalledTimes(1);
    expect(stopped).not.toHaveBeenCalled();
    written.resolve();
    await stopping;
  });
});

verifies(
  ['orchestration/healthy-provider-is-preferred'],
  'only providers that report to be healthy are chosen',
  async () => {
    const fakes = [firecracker(), gvisor(), new FakeProvider('other')];
    fakes[0]?.health.mockResolvedValue(unhealthy('the manager is unreachable'));
    const { providers } = setUpProviders(fakes);
    const { order, leftOut } = await providers.select(agents);
    expect(order).toEqual(['gvisor', 'other']);
    expect(leftOut).toEqual([{ name: 'firecracker', reason: 'the manager is unreachable' }]);
  },
);
