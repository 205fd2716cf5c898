import { describe, expect, test } from 'vitest';
import { EmergentError } from '../../../../src/domain/errors.ts';
import { verifies } from '../../../support/verifies.ts';
import { FakeProvider, unhealthy } from '../support/fake-provider.ts';
import { poolOf, startPools, warmProvider } from '../support/pools.ts';
import { admin, alice, Gate } from '../support/workspaces.ts';

const noSpace = new EmergentError('provider_failed', 'no space left');

describe('at the start', () => {
  verifies(
    [
      'lifecycle/warm-pool-initialization-on-server-start',
      'orchestration/warm-pool-uses-default-provider',
    ],
    'as many sandboxes as configured are made on the provider that auto would choose, and put to rest',
    async () => {
      const [firecracker, gvisor] = [warmProvider('firecracker', 'microvm'), warmProvider()];
      await using pools = await startPools([poolOf(3)], {}, gvisor, firecracker);
      expect(pools.waiting()).toHaveLength(3);
      for (const member of pools.waiting()) {
        expect(member).toMatchObject({
          ...{ provider: 'firecracker', pool: 'default', owner: 'warm-pool', image: 'base' },
          ...{ expiresAt: null, readyAt: null },
        });
      }
      const rested = firecracker.waiting.rest.mock.calls.map(([ref]) => ref.workspaceId);
      expect(new Set(rested)).toEqual(new Set(pools.waiting().map(({ id }) => id)));
      expect(gvisor.create).not.toHaveBeenCalled();
      expect(await pools.status()).toMatchObject({ state: 'ready', ready: 3, creating: 0 });
    },
  );

  test('a pool of none makes none', async () => {
    await using pools = await startPools([poolOf(0)]);
    expect(pools.provider.create).not.toHaveBeenCalled();
    expect(await pools.status()).toMatchObject({ state: 'off', reason: null });
  });

  test('extra pools are made as they are configured', async () => {
    const python = poolOf(1, { name: 'python', image: 'python:3', network: 'isolated' });
    await using pools = await startPools([poolOf(1), python]);
    expect(pools.waiting().map(({ image, network }) => [image, network])).toEqual([
      ['base', 'nat'],
      ['python:3', 'isolated'],
    ]);
  });

  test('a provider that cannot have sandboxes wait has no pool, and the pool says so', async () => {
    await using pools = await startPools([poolOf(2)], {}, new FakeProvider());
    expect(await pools.status()).toMatchObject({
      ...{ state: 'blocked', ready: 0, reason: 'fake cannot have sandboxes wait' },
    });
  });

  test('while no provider is healthy the pool says why, and fills when one is', async () => {
    const provider = warmProvider();
    provider.health.mockResolvedValue(unhealthy('no engine'));
    await using pools = await startPools([poolOf(1)], {}, provider);
    const { reason } = await pools.status();
    expect(reason).toBe('no provider can create a workspace: gvisor: no engine');
    provider.health.mockResolvedValue({ state: 'healthy', details: {} });
    await pools.providers.requireHealthy('gvisor');
    await pools.turn();
    expect(pools.waiting()).toHaveLength(1);
  });
});

describe('filling', () => {
  test('is bounded: a large pool is not made all at once', async () => {
    const provider = warmProvider();
    const gate = new Gate();
    let [now, most] = [0, 0];
    const make = provider.create.getMockImplementation();
    provider.create.mockImplementation(async (...order) => {
      now += 1;
      most = Math.max(most, now);
      await gate.pass();
      now -= 1;
      if (!make) throw new Error('no implementation');
      return make(...order);
    });
    await using pools = await startPools([poolOf(20)], {}, provider);
    expect(await pools.status()).toMatchObject({ state: 'filling', ready: 0, creating: most });
    gate.open();
    await pools.soon();
    expect(pools.waiting()).toHaveLength(20);
    expect(most).toBeLessThanOrEqual(8);
    expect(most).toBeGreaterThanOrEqual(2);
  });

  test('that fails is tried again after pauses that grow, and the pool says why it is not full', async () => {
    const provider = warmProvider();
    provider.create.mockRejectedValue(noSpace);
    await using pools = await startPools([poolOf(1)], {}, provider);
    expect(provider.create).toHaveBeenCalledTimes(1);
    const status = await pools.status();
    expect(status).toMatchObject({ state: 'blocked', reason: 'no space left', ready: 0 });
    await pools.clock.advance(1_000);
    expect(provider.create).toHaveBeenCalledTimes(2);
    await pools.clock.advance(1_000);
    expect(provider.create).toHaveBeenCalledTimes(2);
    await pools.clock.advance(120_000);
    // 1, 2, 4, 8, 16, 32, then every minute.
    expect(provider.create.mock.calls.length).toBeLessThan(10);
    expect(pools.store.rows.size).toBe(0);
    provider.create.mockReset();
    provider.create.mockImplementation(async (spec) => {
      provider.sandboxes.add(spec.sandboxName);
      return { limits: spec.limits, metadata: {} };
    });
    await pools.clock.advance(61_000);
    expect(await pools.status()).toMatchObject({ state: 'ready', reason: null, ready: 1 });
  });

  test('ends with the server: nothing half made is left', async () => {
    const provider = warmProvider();
    provider.create.mockImplementation(
      (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            reject(signal.reason as Error);
          });
        }),
    );
    const pools = await startPools([poolOf(2)], {}, provider);
    expect(pools.store.rows.size).toBe(2);
    await pools[Symbol.asyncDispose]();
    expect(pools.store.rows.size).toBe(0);
    expect(provider.sandboxes.size).toBe(0);
  });
});

describe('the size', () => {
  verifies(
    ['lifecycle/warm-pool-size-adjustment'],
    'can be changed at run time, and the pool follows',
    async () => {
      await using pools = await startPools([poolOf(1)]);
      await pools.pool.resize(admin, 'default', 4);
      await pools.soon();
      expect(pools.waiting()).toHaveLength(4);
      const [first] = pools.waiting();
      await pools.pool.resize(admin, 'default', 1);
      await pools.soon();
      expect(pools.waiting()).toHaveLength(1);
      expect(pools.provider.sandboxes.size).toBe(1);
      // The oldest go, so that what stays is fresh.
      expect(pools.waiting()).not.toContain(first);
      await pools.pool.resize(admin, 'default', 0);
      await pools.soon();
      expect(pools.provider.sandboxes.size).toBe(0);
      expect(await pools.status()).toMatchObject({ state: 'off', size: 0 });
    },
  );

  test('that shrinks while it is being filled has nothing made that nobody wants any more', async () => {
    const provider = warmProvider();
    const gate = new Gate();
    const make = provider.create.getMockImplementation();
    provider.create.mockImplementation(async (...order) => {
      await gate.pass();
      if (!make) throw new Error('no implementation');
      return make(...order);
    });
    await using pools = await startPools([poolOf(20)], {}, provider);
    const begun = provider.create.mock.calls.length;
    await pools.pool.resize(admin, 'default', 1);
    await pools.soon();
    gate.open();
    await pools.soon();
    expect(provider.create).toHaveBeenCalledTimes(begun);
    expect(pools.waiting()).toHaveLength(1);
    expect(provider.sandboxes.size).toBe(1);
  });

  test('is for admins to change, and only of pools that there are', async () => {
    await using pools = await startPools([poolOf(1)]);
    await expect(pools.pool.resize(alice, 'default', 2)).rejects.toMatchObject({
      code: 'forbidden',
    });
    await expect(pools.pool.resize(admin, 'other', 2)).rejects.toMatchObject({
      code: 'pool_not_found',
    });
    expect((await pools.status()).size).toBe(1);
  });

  test('of a changed configuration holds at once; pools that it does not name go', async () => {
    await using pools = await startPools([poolOf(1), poolOf(1, { name: 'python', image: 'py' })]);
    await pools.pool.configure([poolOf(2)]);
    await pools.soon();
    expect(pools.waiting().map(({ pool }) => pool)).toEqual(['default', 'default']);
    expect(pools.provider.sandboxes.size).toBe(2);
  });
});
