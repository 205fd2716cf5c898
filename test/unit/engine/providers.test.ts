import { afterEach, describe, expect, test, vi } from 'vitest';
import type { ProviderHealth } from '../../../src/domain/provider.ts';
import { Providers } from '../../../src/engine/providers.ts';
import { FakeClock } from '../../support/clock.ts';
import { FakeProvider, unhealthy } from './support/fake-provider.ts';

const healthy: ProviderHealth = { state: 'healthy', details: { engine: '1' } };
const none = new Map<string, number>();

function setUp(...providers: FakeProvider[]): { providers: Providers; clock: FakeClock } {
  const clock = new FakeClock();
  return { providers: new Providers(providers, clock, 2_000), clock };
}

describe('Providers', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  test('an unknown name is refused with the names there are', () => {
    const { providers } = setUp(new FakeProvider('a'), new FakeProvider('b'));
    const refused = { code: 'provider_unknown', details: { known: ['a', 'b'] } };
    expect(() => providers.get('c')).toThrow(expect.objectContaining(refused));
    expect(providers.names).toEqual(['a', 'b']);
  });

  test('all who ask while a probe runs share it', async () => {
    const provider = new FakeProvider();
    const answer = Promise.withResolvers<ProviderHealth>();
    provider.health.mockReturnValue(answer.promise);
    const { providers } = setUp(provider);
    const asked = Promise.all([
      providers.requireHealthy('fake'),
      providers.select({ allowUnsandboxed: false, containerType: 'agent_workspace' }),
      providers.statuses(none),
      providers.statuses(none),
    ]);
    answer.resolve(healthy);
    const [explicit, selection] = await asked;
    expect(explicit).toBe(provider);
    expect(selection.order).toEqual(['fake']);
    expect(provider.health).toHaveBeenCalledTimes(1);
  });

  test('good news is kept for the statuses for a while, and never for a choice', async () => {
    const provider = new FakeProvider();
    const { providers, clock } = setUp(provider);
    const [first] = await providers.statuses(none);
    await clock.advance(1_999);
    const [second] = await providers.statuses(none);
    expect(provider.health).toHaveBeenCalledTimes(1);
    expect(second?.lastCheck).toEqual(first?.lastCheck);
    await providers.requireHealthy('fake');
    expect(provider.health).toHaveBeenCalledTimes(2);
    await providers.select({ allowUnsandboxed: false, containerType: 'agent_workspace' });
    expect(provider.health).toHaveBeenCalledTimes(3);
    await clock.advance(2_000);
    const [last] = await providers.statuses(none);
    expect(provider.health).toHaveBeenCalledTimes(4);
    expect(last?.lastCheck).toEqual(clock.now());
  });

  test('bad news is never kept: a provider that is back is used at once', async () => {
    const provider = new FakeProvider();
    provider.health.mockResolvedValueOnce(unhealthy());
    const { providers } = setUp(provider);
    expect(await providers.statuses(none)).toMatchObject([{ health: { state: 'unhealthy' } }]);
    expect(await providers.statuses(none)).toMatchObject([{ health: { state: 'healthy' } }]);
  });

  test('a probe that hangs ends by its deadline, and the next one asks anew', async () => {
    vi.useFakeTimers();
    const provider = new FakeProvider();
    provider.health.mockReturnValueOnce(new Promise(() => undefined));
    const { providers } = setUp(provider);
    const statuses = providers.statuses(none);
    await vi.advanceTimersByTimeAsync(20_000);
    const [status] = await statuses;
    expect(status?.health).toMatchObject({
      state: 'unhealthy',
      reason: 'health of fake did not finish within 20000 ms',
      remedy: expect.stringContaining('emergent doctor') as unknown,
    });
    expect(provider.health.mock.calls[0]?.[0].aborted).toBe(true);
    expect(await providers.statuses(none)).toMatchObject([{ health: { state: 'healthy' } }]);
  });

  test('a probe that throws is unhealthy with its reason', async () => {
    const provider = new FakeProvider();
    provider.health.mockRejectedValue(new Error('socket closed'));
    const { providers } = setUp(provider);
    const [status] = await providers.statuses(none);
    expect(status?.health).toMatchObject({ state: 'unhealthy', reason: 'socket closed' });
  });

  test.each(['unhealthy', 'absent'] as const)(
    'an explicit choice of one that is %s fails with its reason and remedy',
    async (state) => {
      const provider = new FakeProvider();
      provider.health.mockResolvedValue(unhealthy('no engine', state));
      const { providers } = setUp(provider, new FakeProvider('other'));
      await expect(providers.requireHealthy('fake')).rejects.toMatchObject({
        code: 'provider_unavailable',
        message: 'fake: no engine',
        hint: 'Start it.',
        details: { providers: [{ name: 'fake', state, reason: 'no engine' }] },
      });
    },
  );

  test('a status tells how many workspaces a provider holds', async () => {
    const { providers } = setUp(new FakeProvider('a'), new FakeProvider('b'));
    expect(await providers.statuses(new Map([['b', 3]]))).toMatchObject([
      { name: 'a', activeWorkspaces: 0, capabilities: { isolation: 'gvisor' } },
      { name: 'b', activeWorkspaces: 3 },
    ]);
  });
});
