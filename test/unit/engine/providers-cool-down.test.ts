import { describe, expect, test } from 'vitest';
import type { ProviderHealth } from '../../../src/domain/provider.ts';
import { FakeProvider, unhealthy } from './support/fake-provider.ts';
import { agents, firecracker, gvisor, setUpProviders } from './support/watched-providers.ts';

const none = new Map<string, number>();
const failure = new Error('no space left');

describe('a provider that failed a create', () => {
  test('is passed over by automatic choices for 30 seconds', async () => {
    const { providers, clock } = setUpProviders([firecracker(), gvisor()]);
    await providers.select(agents);
    providers.createFailed('firecracker', failure);
    await clock.advance(29_001);
    expect(await providers.select(agents)).toMatchObject({
      order: ['gvisor'],
      leftOut: [
        {
          name: 'firecracker',
          reason: 'it failed a create and is passed over for another 1 s: no space left',
        },
      ],
    });
    await clock.advance(999);
    expect((await providers.select(agents)).order).toEqual(['firecracker', 'gvisor']);
  });

  test('is passed over for 30 seconds more when it fails again', async () => {
    const { providers, clock } = setUpProviders([firecracker(), gvisor()]);
    providers.createFailed('firecracker', failure);
    await clock.advance(20_000);
    providers.createFailed('firecracker', failure);
    await clock.advance(20_000);
    expect((await providers.select(agents)).order).toEqual(['gvisor']);
  });

  test('is trusted again at once when a create succeeds', async () => {
    const { providers } = setUpProviders([firecracker(), gvisor()]);
    providers.createFailed('firecracker', failure);
    providers.createSucceeded('firecracker');
    expect((await providers.select(agents)).order).toEqual(['firecracker', 'gvisor']);
  });

  test('serves all the same where it is the only one, or the only sandbox', async () => {
    const { providers } = setUpProviders([gvisor(), new FakeProvider('docker', 'container')]);
    providers.createFailed('gvisor', failure);
    expect((await providers.select(agents)).order).toEqual(['gvisor']);
    const lax = { ...agents, allowUnsandboxed: true };
    expect((await providers.select(lax)).order).toEqual(['gvisor', 'docker']);
  });

  test('can still be asked for by name, and stays the choice for what is made to be kept', async () => {
    const vm = firecracker();
    const { providers } = setUpProviders([vm, gvisor()]);
    providers.createFailed('firecracker', failure);
    expect(await providers.requireHealthy('firecracker')).toBe(vm);
    expect((await providers.decideForLong(agents)).order).toEqual(['firecracker', 'gvisor']);
  });

  test('is healthy, and shown with the reason until it is over', async () => {
    const { providers, clock } = setUpProviders([gvisor()]);
    providers.createFailed('gvisor', failure);
    const until = new Date(clock.now().getTime() + 30_000);
    const shown = { health: { state: 'healthy' }, coolingDown: { until, reason: 'no space left' } };
    expect(await providers.statuses(none)).toMatchObject([shown]);
    await clock.advance(30_000);
    expect(await providers.statuses(none)).toMatchObject([{ coolingDown: null }]);
  });

  test('is asked for its health at once, without anybody waiting for it', async () => {
    const vm = firecracker();
    const { providers, clock, noted } = setUpProviders([vm, gvisor()]);
    await providers.select(agents);
    const answer = Promise.withResolvers<ProviderHealth>();
    vm.health.mockReturnValue(answer.promise);
    providers.createFailed('firecracker', failure);
    expect(vm.health).toHaveBeenCalledTimes(2);
    expect((await providers.select(agents)).order).toEqual(['gvisor']);
    answer.resolve(unhealthy('the manager is unreachable'));
    await clock.advance(0);
    expect(noted()).toEqual(['firecracker: provider.unhealthy from healthy']);
    expect((await providers.select(agents)).leftOut).toEqual([
      { name: 'firecracker', reason: 'the manager is unreachable' },
    ]);
  });
});
