import { describe, expect, test } from 'vitest';
import { EmergentError } from '../../../../src/domain/errors.ts';
import { verifies } from '../../../support/verifies.ts';
import { poolOf, startPools, warmProvider } from '../support/pools.ts';
import type { PoolSetup } from '../support/pools.ts';
import { alice, bob, never, request } from '../support/workspaces.ts';

const down = new EmergentError('store_unavailable', 'no answer');

async function misses({ pool }: PoolSetup) {
  return (await pool.report()).counts.misses;
}

function missesLogged({ recorded }: PoolSetup): readonly string[] {
  return recorded
    .entries()
    .filter(({ msg }) => msg.startsWith('warm pool miss'))
    .map(({ level, msg }) => `${level}: ${msg}`);
}

describe('a create for which a sandbox waits', () => {
  verifies(
    [
      'lifecycle/workspace-creation-with-warm-pool-hit',
      'lifecycle/warm-pool-replenishment-after-assignment',
      'orchestration/warm-pool-container-matches-request',
    ],
    'gets it, as its own, and another is made in its place afterwards',
    async () => {
      await using pools = await startPools([poolOf(2)]);
      const waited = pools.waiting().map(({ id }) => id);
      const created = await pools.workspaces.create(alice, request, never());
      expect(created).toMatchObject({
        ...{ status: 'ready', owner: 'alice', pool: null, poolKey: null },
        ...{ ttlSeconds: 3600, createdAt: pools.clock.now(), readyAt: pools.clock.now() },
        metadata: {
          purpose: 'test',
          warm_pool: 'default',
          attempts: [{ provider: 'gvisor', result: 'adopted' }],
        },
      });
      expect(waited).toContain(created.id);
      const [, spec] = pools.provider.waiting.adopt.mock.lastCall ?? [];
      expect(spec).toMatchObject({ workspaceId: created.id, env: { A: '1' } });
      expect(pools.provider.create).toHaveBeenCalledTimes(2);
      await pools.soon();
      expect(pools.waiting()).toHaveLength(2);
      expect(pools.provider.create).toHaveBeenCalledTimes(3);
      expect((await pools.pool.report()).counts.hits).toEqual({ default: 1 });
      expect(pools.workspaces.createAttempts()).toEqual([
        { provider: 'gvisor', result: 'adopted', count: 1 },
      ]);
    },
  );

  test("is nobody else's: of two at once each gets its own", async () => {
    await using pools = await startPools([poolOf(2)]);
    const both = await Promise.all([
      pools.workspaces.create(alice, request, never()),
      pools.workspaces.create(bob, request, never()),
    ]);
    expect(new Set(both.map(({ id }) => id)).size).toBe(2);
    expect(both.map(({ owner }) => owner)).toEqual(['alice', 'bob']);
  });

  test("gets it also by the provider's name", async () => {
    await using pools = await startPools([poolOf(1)]);
    const created = await pools.workspaces.create(
      ...([alice, { ...request, provider: 'gvisor' }, never()] as const),
    );
    expect(created.metadata).toMatchObject({ warm_pool: 'default' });
  });

  test('counts against the limit like any other, and leaves it waiting where there is no room', async () => {
    await using pools = await startPools([poolOf(2)], { maxConcurrent: 1 });
    await pools.workspaces.create(alice, request, never());
    await expect(pools.workspaces.create(bob, request, never())).rejects.toMatchObject({
      code: 'limit_reached',
    });
    expect(pools.waiting().length).toBeGreaterThan(0);
  });

  test('and which nobody waits for has its id at once', async () => {
    await using pools = await startPools([poolOf(1)]);
    const [waiting] = pools.waiting();
    const unheard = { ...request, wait: false };
    const { id, status } = await pools.workspaces.create(alice, unheard, never());
    expect([id, status]).toEqual([waiting?.id, 'creating']);
    await pools.clock.advance(0);
    expect(pools.store.rows.get(id)?.status).toBe('ready');
  });

  test('that its caller leaves meanwhile leaves nothing behind', async () => {
    await using pools = await startPools([poolOf(1)]);
    const leaving = new AbortController();
    pools.provider.waiting.adopt.mockImplementation(async (_, __, signal) => {
      leaving.abort(new EmergentError('client_closed', 'gone'));
      signal.throwIfAborted();
    });
    const [waiting] = pools.waiting();
    const creating = pools.workspaces.create(alice, request, leaving.signal);
    await expect(creating).rejects.toMatchObject({ code: 'client_closed' });
    expect(pools.store.rows.has(waiting?.id ?? '')).toBe(false);
    expect(pools.provider.sandboxes).not.toContain(waiting?.providerWorkspaceId);
  });

  test('whose claim gets no answer gives up the row, so that it is undone', async () => {
    await using pools = await startPools([poolOf(1)]);
    const [waiting] = pools.waiting();
    const claim = pools.pools.claim.bind(pools.pools);
    pools.pools.claim = async (...order) => {
      await claim(...order);
      throw down;
    };
    await expect(pools.workspaces.create(alice, request, never())).rejects.toBe(down);
    expect((await pools.store.abandoned()).map(({ id }) => id)).toEqual([waiting?.id]);
  });
});

describe('a create that misses', () => {
  verifies(
    [
      'lifecycle/workspace-creation-with-warm-pool-miss',
      'orchestration/warm-pool-miss-triggers-cold-start-with-correct-provider',
    ],
    'because none waits is made by the provider that was chosen, and the miss is logged and counted',
    async () => {
      await using pools = await startPools([poolOf(1)]);
      await pools.workspaces.create(alice, request, never());
      const cold = await pools.workspaces.create(alice, request, never());
      expect(cold).toMatchObject({
        ...{ status: 'ready', provider: 'gvisor' },
        metadata: { attempts: [{ provider: 'gvisor', result: 'created' }] },
      });
      expect(cold.metadata).not.toHaveProperty('warm_pool');
      expect(await misses(pools)).toEqual({ empty: 1, no_pool: 0, provider: 0, dead: 0 });
      expect(missesLogged(pools)).toEqual(['info: warm pool miss: none waits in the pool default']);
    },
  );

  test('because it wants something else says what', async () => {
    await using pools = await startPools([poolOf(1)]);
    const wanted = { ...request, image: 'other', limits: { cpu: 1 } };
    await pools.workspaces.create(alice, wanted, never());
    expect(await misses(pools)).toMatchObject({ no_pool: 1 });
    expect(missesLogged(pools)).toEqual([
      'info: warm pool miss: no pool has such sandboxes: image, cpu',
    ]);
    expect(pools.waiting()).toHaveLength(1);
  });

  test('because the provider that would be chosen is another leaves it waiting', async () => {
    const [firecracker, gvisor] = [warmProvider('firecracker', 'microvm'), warmProvider()];
    await using pools = await startPools([poolOf(1)], {}, gvisor, firecracker);
    const created = await pools.workspaces.create(
      ...([alice, { ...request, provider: 'gvisor' }, never()] as const),
    );
    expect(created.provider).toBe('gvisor');
    expect(pools.waiting().map(({ provider }) => provider)).toEqual(['firecracker']);
    expect(await misses(pools)).toMatchObject({ provider: 1 });
    expect(missesLogged(pools)).toEqual([
      'info: warm pool miss: the pool default is on firecracker, the workspace on gvisor',
    ]);
  });

  test('because what waited is dead has it made anew, in the same row', async () => {
    await using pools = await startPools([poolOf(1)]);
    const [waiting] = pools.waiting();
    pools.provider.stopped.add(waiting?.providerWorkspaceId ?? '');
    const created = await pools.workspaces.create(alice, request, never());
    expect(created).toMatchObject({
      ...{ id: waiting?.id, status: 'ready' },
      metadata: { attempts: [{ provider: 'gvisor', result: 'created' }] },
    });
    expect(pools.provider.create.mock.lastCall?.[0].sandboxName).toBe(waiting?.providerWorkspaceId);
    expect(pools.provider.stopped.size).toBe(0);
    const { hits } = (await pools.pool.report()).counts;
    expect([hits, await misses(pools)]).toEqual([
      {},
      { empty: 0, no_pool: 0, provider: 0, dead: 1 },
    ]);
  });

  test('on a server without pools is not counted', async () => {
    await using pools = await startPools([poolOf(0)]);
    await pools.workspaces.create(alice, request, never());
    expect(await misses(pools)).toEqual({ empty: 0, no_pool: 0, provider: 0, dead: 0 });
    expect(missesLogged(pools)).toEqual([]);
  });
});

describe('while the database decides', () => {
  test('those that have waited longest wake up, one for each create', async () => {
    await using pools = await startPools([poolOf(3)]);
    const oldest = (await pools.pools.members()).map(({ id }) => id);
    const creating = [alice, bob].map((caller) =>
      pools.workspaces.create(caller, request, never()),
    );
    const ids = (await Promise.all(creating)).map(({ id }) => id);
    const roused = pools.provider.waiting.rouse.mock.calls.map(([ref]) => ref.workspaceId);
    expect(roused).toEqual(oldest.slice(0, 2));
    expect(ids).toEqual(roused);
  });
});
