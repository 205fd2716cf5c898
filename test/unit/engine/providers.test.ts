import { afterEach, describe, expect, test, vi } from 'vitest';
import type { ProviderHealth } from '../../../src/domain/provider.ts';
import { FakeProvider, unhealthy } from './support/fake-provider.ts';
import { agents, gvisor, setUpProviders } from './support/watched-providers.ts';

const healthy: ProviderHealth = { state: 'healthy', details: { engine: '1' } };
const none = new Map<string, number>();
const never = new Promise<never>(() => undefined);
const notBuilt = { name: 'e2b', reason: 'E2B_API_KEY is not set', remedy: 'Set it.' };

afterEach(() => {
  vi.useRealTimers();
});

describe('a name', () => {
  test('that nobody knows is refused with the names there are', async () => {
    const { providers } = setUpProviders([new FakeProvider('a'), new FakeProvider('b')]);
    const refused = { code: 'provider_unknown', details: { known: ['a', 'b'] } };
    expect(() => providers.get('c')).toThrow(expect.objectContaining(refused));
    await expect(providers.requireHealthy('c')).rejects.toMatchObject(refused);
    expect(providers.names).toEqual(['a', 'b']);
  });

  test('that is known but not configured is unavailable, with reason and remedy', async () => {
    const { providers } = setUpProviders([gvisor()], { unconfigured: [notBuilt] });
    const refused = {
      code: 'provider_unavailable',
      message: 'e2b: E2B_API_KEY is not set',
      hint: 'Set it.',
      details: {
        providers: [{ name: 'e2b', state: 'absent', reason: 'E2B_API_KEY is not set' }],
      },
    };
    expect(() => providers.get('e2b')).toThrow(expect.objectContaining(refused));
    await expect(providers.requireHealthy('e2b')).rejects.toMatchObject(refused);
    expect(await providers.lastHealthOf('e2b')).toMatchObject({ state: 'absent' });
    expect(providers.names).toEqual(['gvisor']);
  });
});

describe('an explicit choice', () => {
  test.each(['unhealthy', 'absent'] as const)(
    'of one that is %s fails with its reason and remedy',
    async (state) => {
      const provider = new FakeProvider();
      provider.health.mockResolvedValue(unhealthy('no engine', state));
      const { providers } = setUpProviders([provider, new FakeProvider('other')]);
      await expect(providers.requireHealthy('fake')).rejects.toMatchObject({
        code: 'provider_unavailable',
        message: 'fake: no engine',
        hint: 'Start it.',
        details: { providers: [{ name: 'fake', state, reason: 'no engine' }] },
      });
    },
  );

  test('asks anew, whatever is known', async () => {
    const provider = new FakeProvider();
    provider.health.mockResolvedValueOnce(unhealthy());
    const { providers } = setUpProviders([provider]);
    expect(await providers.lastHealthOf('fake')).toEqual(unhealthy());
    expect(await providers.requireHealthy('fake')).toBe(provider);
    expect(await providers.lastHealthOf('fake')).toMatchObject({ state: 'healthy' });
    expect(provider.health).toHaveBeenCalledTimes(2);
  });

  test('of one that does not answer fails in time', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const provider = new FakeProvider();
    const { providers } = setUpProviders([provider]);
    await providers.requireHealthy('fake');
    provider.health.mockReturnValue(never);
    const refused = expect(providers.requireHealthy('fake')).rejects.toMatchObject({
      code: 'provider_unavailable',
      message: 'fake: no answer within 8 s',
    });
    await vi.advanceTimersByTimeAsync(8_000);
    await refused;
  });
});

describe('an automatic choice', () => {
  test('goes by what is known', async () => {
    const provider = new FakeProvider();
    const { providers } = setUpProviders([provider]);
    for (let round = 0; round < 3; round += 1) {
      expect((await providers.select(agents)).order).toEqual(['fake']);
    }
    expect(provider.health).toHaveBeenCalledTimes(1);
  });

  test('waits for one that was never heard from, as it may be the best', async () => {
    const [first, second] = [gvisor(), new FakeProvider('vm', 'microvm')];
    const answer = Promise.withResolvers<ProviderHealth>();
    second.health.mockReturnValue(answer.promise);
    const { providers } = setUpProviders([first, second]);
    const selection = providers.select(agents);
    answer.resolve(healthy);
    expect((await selection).order).toEqual(['vm', 'gvisor']);
  });

  test('asks once more where nobody is left: one that is back is used at once', async () => {
    const provider = new FakeProvider();
    provider.health.mockResolvedValueOnce(unhealthy());
    const { providers } = setUpProviders([provider]);
    await providers.lastHealthOf('fake');
    expect((await providers.select(agents)).order).toEqual(['fake']);
    expect(provider.health).toHaveBeenCalledTimes(2);
  });

  test('ends in time with what is known where they do not answer', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const provider = new FakeProvider('known');
    provider.health.mockResolvedValueOnce(unhealthy('no engine')).mockReturnValue(never);
    const { providers } = setUpProviders([provider]);
    await providers.lastHealthOf('known');
    const selection = providers.select(agents);
    await vi.advanceTimersByTimeAsync(8_000);
    expect(await selection).toMatchObject({
      order: [],
      leftOut: [{ name: 'known', reason: 'no engine (no answer within 8 s)' }],
    });
  });

  test('waits for the whole first answer where nothing else can serve', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const provider = new FakeProvider('unknown');
    provider.health.mockReturnValue(never);
    const { providers } = setUpProviders([provider]);
    const selection = providers.select(agents);
    await vi.advanceTimersByTimeAsync(20_000);
    const reason = 'health of unknown did not finish within 20000 ms';
    expect(await selection).toMatchObject({ order: [], leftOut: [{ name: 'unknown', reason }] });
  });

  test('does not wait long for a first answer where another can serve', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const [known, unknown] = [new FakeProvider('known'), new FakeProvider('unknown')];
    unknown.health.mockReturnValue(never);
    const { providers } = setUpProviders([known, unknown]);
    await providers.lastHealthOf('known');
    const selection = providers.select(agents);
    await vi.advanceTimersByTimeAsync(8_000);
    expect(await selection).toMatchObject({
      order: ['known'],
      leftOut: [{ name: 'unknown', reason: 'no answer within 8 s' }],
    });
  });

  test('says of those that are not configured why they are left out', async () => {
    const { providers } = setUpProviders([gvisor()], { unconfigured: [notBuilt] });
    expect(await providers.select(agents)).toMatchObject({
      order: ['gvisor'],
      leftOut: [{ name: 'e2b', reason: 'E2B_API_KEY is not set' }],
    });
  });
});

describe('a probe', () => {
  test('is shared by all who ask while it runs', async () => {
    const provider = new FakeProvider();
    const answer = Promise.withResolvers<ProviderHealth>();
    provider.health.mockReturnValue(answer.promise);
    const { providers } = setUpProviders([provider]);
    providers.start();
    await using _ = providers;
    const asked = Promise.all([
      providers.requireHealthy('fake'),
      providers.select(agents),
      providers.statuses(none),
    ]);
    answer.resolve(healthy);
    const [explicit, selection] = await asked;
    expect(explicit).toBe(provider);
    expect(selection.order).toEqual(['fake']);
    expect(provider.health).toHaveBeenCalledTimes(1);
  });

  test('that hangs ends by its deadline, and the next one asks anew', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const provider = new FakeProvider();
    provider.health.mockReturnValueOnce(never);
    const { providers } = setUpProviders([provider]);
    const asked = providers.statuses(none);
    await vi.advanceTimersByTimeAsync(8_000);
    expect(await asked).toMatchObject([{ lastCheck: null }]);
    await vi.advanceTimersByTimeAsync(12_000);
    expect(await providers.lastHealthOf('fake')).toMatchObject({
      state: 'unhealthy',
      reason: 'health of fake did not finish within 20000 ms',
      remedy: expect.stringContaining('emergent doctor') as unknown,
    });
    expect(provider.health.mock.calls[0]?.[0].aborted).toBe(true);
    expect(await providers.requireHealthy('fake')).toBe(provider);
  });

  test('that throws is unhealthy with its reason', async () => {
    const provider = new FakeProvider();
    provider.health.mockRejectedValue(new Error('socket closed'));
    const { providers } = setUpProviders([provider]);
    const [status] = await providers.statuses(none);
    expect(status?.health).toMatchObject({ state: 'unhealthy', reason: 'socket closed' });
  });
});

describe('statuses', () => {
  test('tell how many workspaces a provider holds, and list what is not configured', async () => {
    const fakes = [new FakeProvider('a'), new FakeProvider('b')];
    const { providers } = setUpProviders(fakes, { unconfigured: [notBuilt] });
    expect(await providers.statuses(new Map([['b', 3]]))).toMatchObject([
      { name: 'a', activeWorkspaces: 0, capabilities: { isolation: 'gvisor' } },
      { name: 'b', activeWorkspaces: 3 },
      {
        name: 'e2b',
        health: { state: 'absent', reason: 'E2B_API_KEY is not set', remedy: 'Set it.' },
        lastCheck: null,
        capabilities: null,
      },
    ]);
  });

  test('are what was last heard, and say when', async () => {
    const provider = new FakeProvider();
    const { providers, clock } = setUpProviders([provider]);
    const heardAt = clock.now();
    await providers.statuses(none);
    await clock.advance(20_000);
    provider.health.mockReturnValue(never);
    expect(await providers.statuses(none)).toMatchObject([{ lastCheck: heardAt }]);
    expect(provider.health).toHaveBeenCalledTimes(1);
  });
});
