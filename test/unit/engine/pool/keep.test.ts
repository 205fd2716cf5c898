import { describe, expect, test } from 'vitest';
import { EmergentError } from '../../../../src/domain/errors.ts';
import { poolOf, startPools, warmProvider } from '../support/pools.ts';
import type { PoolSetup } from '../support/pools.ts';

const unreachable = new EmergentError('sandbox_unreachable', 'no answer');

function names(pools: PoolSetup): readonly string[] {
  return pools.waiting().map(({ providerWorkspaceId }) => providerWorkspaceId);
}

describe('members', () => {
  test('that died are replaced', async () => {
    await using pools = await startPools([poolOf(2)]);
    const [dead = '', alive] = names(pools);
    pools.provider.stopped.add(dead);
    await pools.turn();
    expect(names(pools)).toHaveLength(2);
    expect(names(pools)).toContain(alive);
    expect(pools.provider.sandboxes).not.toContain(dead);
  });

  test('whose provider cannot be listed are left alone', async () => {
    await using pools = await startPools([poolOf(2)]);
    const before = names(pools);
    pools.provider.list.mockRejectedValue(new Error('no engine'));
    await pools.turn();
    expect(names(pools)).toEqual(before);
    expect(pools.provider.destroy).not.toHaveBeenCalled();
  });

  test('made of an older image are rolled over', async () => {
    await using pools = await startPools([poolOf(2)]);
    const before = names(pools);
    pools.provider.fingerprint = 'image 2';
    await pools.turn();
    expect(names(pools)).toHaveLength(2);
    for (const old of before) {
      expect(names(pools)).not.toContain(old);
      expect(pools.provider.sandboxes).not.toContain(old);
    }
  });

  test('made with other limits are rolled over', async () => {
    await using pools = await startPools([poolOf(1)]);
    const small = { cpu: 1, memoryBytes: 2 ** 30, diskBytes: 2 ** 30 };
    await pools.pool.configure([poolOf(1, { limits: small })]);
    await pools.soon();
    expect(pools.provider.create.mock.lastCall?.[0].limits).toEqual(small);
    expect(pools.provider.sandboxes.size).toBe(1);
  });

  test('that run and do not answer are replaced after some turns', async () => {
    await using pools = await startPools([poolOf(1)]);
    const [silent] = names(pools);
    pools.provider.waiting.rest.mockImplementation(async ({ sandboxName }) => {
      if (sandboxName === silent) throw unreachable;
    });
    await pools.turn();
    expect(names(pools)).toEqual([silent]);
    await pools.clock.advance(40_000);
    expect(names(pools)).toHaveLength(1);
    expect(names(pools)).not.toEqual([silent]);
  });
});

describe('another server on the same database', () => {
  test('takes up what waits, makes no more, and loses none', async () => {
    const first = await startPools([poolOf(3)]);
    const before = names(first);
    await first[Symbol.asyncDispose]();
    first.provider.waiting.rest.mockClear();
    await using next = await startPools([poolOf(3)], { beside: first });
    await next.turn();
    expect(names(next)).toEqual(before);
    expect(next.provider.create).toHaveBeenCalledTimes(3);
    const rested = next.provider.waiting.rest.mock.calls.map(([ref]) => ref.sandboxName);
    expect(new Set(rested)).toEqual(new Set(before));
  });

  test('at the same time fills it only once', async () => {
    await using first = await startPools([poolOf(2)]);
    await using second = await startPools([poolOf(2)], { beside: first });
    await first.pool.resize({ tokenId: 'the admin', role: 'admin' }, 'default', 6);
    await first.turn();
    await second.turn();
    expect(names(first)).toHaveLength(6);
    expect(first.provider.sandboxes.size).toBe(6);
  });

  test('of another version leaves the pool to the one that was configured last', async () => {
    await using first = await startPools([poolOf(1)]);
    const before = names(first);
    await first.pools.configure([poolOf(3)], '2.0.0');
    await first.turn();
    expect(names(first)).toEqual(before);
    expect(await first.status()).toMatchObject({
      ...{ state: 'blocked', reason: 'version 2.0.0 of the server keeps this pool' },
    });
  });
});

describe('a provider', () => {
  test('that takes over from a failed one gets the pool, and gives it back', async () => {
    const [firecracker, gvisor] = [warmProvider('firecracker', 'microvm'), warmProvider()];
    await using pools = await startPools([poolOf(2)], {}, gvisor, firecracker);
    const broken = { state: 'unhealthy', reason: 'no KVM', remedy: '', details: {} } as const;
    firecracker.health.mockResolvedValue(broken);
    firecracker.list.mockRejectedValue(new Error('no manager'));
    await pools.providers.healthOf('firecracker');
    await pools.turn();
    expect([firecracker.sandboxes.size, gvisor.sandboxes.size]).toEqual([2, 2]);
    expect(await pools.status()).toMatchObject({ provider: 'gvisor', ready: 2 });
    firecracker.health.mockResolvedValue({ state: 'healthy', details: {} });
    firecracker.list.mockImplementation(async () => []);
    await pools.providers.healthOf('firecracker');
    await pools.turn();
    await pools.turn();
    expect(await pools.status()).toMatchObject({ provider: 'firecracker', ready: 2 });
    expect(gvisor.sandboxes.size).toBe(0);
  });
});
