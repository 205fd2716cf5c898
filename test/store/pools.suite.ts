import { expect, test } from 'vitest';
import { noticeOwner, type WorkspaceEvent } from '../../src/domain/events.ts';
import type { PoolDefinition, StoredPool } from '../../src/domain/warm-pool.ts';
import { workspaceStatuses } from '../../src/domain/workspace.ts';
import { change, newMember, newWorkspace, put } from './fixtures/workspaces.ts';
import type { Subject } from './suite.ts';

function definition(overrides: Partial<PoolDefinition> = {}): PoolDefinition {
  return {
    name: 'default',
    size: 5,
    provider: 'auto',
    image: 'base',
    limits: { cpu: 0.5, memoryBytes: 4 * 2 ** 30, diskBytes: Number.MAX_SAFE_INTEGER },
    network: 'nat',
    ...overrides,
  };
}

export function poolTests(subject: () => Subject): void {
  const sizes = (pools: readonly StoredPool[]): Record<string, number> =>
    Object.fromEntries(pools.map(({ definition: { name }, size }) => [name, size]));

  test('a configuration comes back as it was given, by name', async () => {
    const { pools } = subject().store;
    expect(await pools.list()).toEqual([]);
    const other = definition({ name: 'b-2', provider: 'gvisor', network: 'isolated', size: 0 });
    const hyphen = definition({ name: 'b' });
    const configured = await pools.configure([other, definition(), hyphen], '1.2.3');
    expect(configured).toEqual([
      { definition: hyphen, size: 5, release: '1.2.3' },
      { definition: other, size: 0, release: '1.2.3' },
      { definition: definition(), size: 5, release: '1.2.3' },
    ]);
    expect(await pools.list()).toEqual(configured);
  });

  test('the next configuration replaces it: shape, release, and what is no longer named', async () => {
    const { pools } = subject().store;
    await pools.configure([definition(), definition({ name: 'old' })], '1.0.0');
    const changed = definition({ image: 'other', provider: 'gvisor', size: 6 });
    expect(await pools.configure([changed, definition({ name: 'new' })], '2.0.0')).toEqual([
      { definition: changed, size: 6, release: '2.0.0' },
      { definition: definition({ name: 'new' }), size: 5, release: '2.0.0' },
    ]);
    expect(await pools.configure([], '2.0.0')).toEqual([]);
  });

  test('a size that was set at run time holds until the configured one changes', async () => {
    const { pools } = subject().store;
    const configure = async (size: number): Promise<Record<string, number>> =>
      sizes(await pools.configure([definition({ size, image: String(Math.random()) })], '1'));
    await configure(5);
    await pools.resize('default', 8, 'somebody');
    expect(await configure(5)).toEqual({ default: 8 });
    expect(await configure(5)).toEqual({ default: 8 });
    expect(await configure(6)).toEqual({ default: 6 });
    await pools.resize('default', 0, 'somebody');
    expect(await configure(6)).toEqual({ default: 0 });
    // Back at what it once was is a change too.
    expect(await configure(5)).toEqual({ default: 5 });
    await pools.configure([], '1');
    expect(await configure(5)).toEqual({ default: 5 });
  });

  test('of two servers that start with different configurations, one’s is there whole', async () => {
    const { store, another } = subject();
    const other = await another();
    const one = ['a', 'b', 'c'].map((name) => definition({ name, size: 1 }));
    const two = ['b', 'c', 'd'].map((name) => definition({ name, size: 2 }));
    for (let turn = 0; turn < 10; turn += 1) {
      await Promise.all([store.pools.configure(one, '1'), other.pools.configure(two, '2')]);
      const pools = await store.pools.list();
      expect([one, two]).toContainEqual(pools.map((pool) => pool.definition));
      expect(new Set(pools.map(({ release }) => release)).size).toBe(1);
    }
  });

  test('a new size is answered, kept and told once', async () => {
    const { store } = subject();
    await store.pools.configure([definition(), definition({ name: 'other' })], '1.0.0');
    const resized = { definition: definition(), size: 7, release: '1.0.0' };
    expect(await store.pools.resize('default', 7, 'alice')).toEqual(resized);
    expect(await store.pools.resize('default', 7, 'bob')).toEqual(resized);
    expect(sizes(await store.pools.list())).toEqual({ default: 7, other: 5 });
    expect(await store.events.list({ limit: 10 })).toEqual([
      {
        id: expect.any(Number) as unknown,
        at: expect.any(Date) as unknown,
        workspaceId: null,
        owner: noticeOwner,
        actor: 'alice',
        type: 'pool.resized',
        detail: { pool: 'default', from: 5, to: 7 },
      },
    ]);
  });

  test('a pool that is not there cannot be resized, and no pool beyond the largest', async () => {
    const { store } = subject();
    await store.pools.configure([definition()], '1');
    expect(await store.pools.resize('other', 7, 'alice')).toBeUndefined();
    await expect(store.pools.resize('default', 201, 'alice')).rejects.toThrow('size_range');
    expect(sizes(await store.pools.list())).toEqual({ default: 5 });
    expect(await store.events.list({ limit: 10 })).toEqual([]);
  });

  test('of many sizes set at once each event tells what it replaced', async () => {
    const { store, another } = subject();
    const other = await another();
    await store.pools.configure([definition({ size: 0 })], '1');
    await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        (n % 2 ? store : other).pools.resize('default', n + 1, String(n)),
      ),
    );
    const events = await store.events.list({ limit: 100 });
    expect(events).toHaveLength(40);
    const [last] = await store.pools.list();
    // Each size was set once: a chain from 0 to the last one, without a link missing.
    const next = new Map(events.map(({ detail }) => [detail['from'], detail['to']]));
    let size: unknown = 0;
    for (let link = 0; link < events.length; link += 1) size = next.get(size);
    expect(size).toBe(last?.size);
  });

  test('a member is written as given, with its event, and listed until it is claimed or gone', async () => {
    const { store } = subject();
    const member = newMember({ metadata: { a: 1 }, createdAt: new Date('2026-01-02Z') });
    const row = await store.pools.reserve(member, 1);
    expect(row).toEqual({ ...member, statusReason: null, readyAt: null, version: 1 });
    const [event]: readonly WorkspaceEvent[] = await store.events.list({ limit: 10 });
    expect(event).toMatchObject({
      type: 'workspace.creating',
      owner: 'warm-pool',
      actor: 'warm-pool',
      detail: { provider: 'memory', image: 'base', pool: 'default' },
    });
    await put(store, { status: 'ready' });
    const failed = await put(store, { pool: 'other', status: 'error', createdAt: new Date(0) });
    expect(await store.pools.members()).toEqual([failed, row]);
    const warm = change(['creating'], 'warm', { own: true, changes: { metadata: { b: 2 } } });
    expect(await store.workspaces.transition(member.id, warm)).toEqual({
      ...row,
      status: 'warm',
      metadata: { b: 2 },
      version: 2,
    });
    await store.workspaces.transition(failed.id, change(['error'], 'destroying'));
    await store.workspaces.remove(failed.id, 'warm-pool');
    expect(await store.pools.members()).toHaveLength(1);
  });

  test('places are those of one pool and key, taken by what is made or waits', async () => {
    const { store } = subject();
    for (const status of ['creating', 'warm', 'destroying', 'error'] as const) {
      await put(store, { pool: 'default', status });
      await put(store, { pool: 'other', status });
      await put(store, { pool: 'default', poolKey: 'key-2', status });
    }
    expect(await store.pools.reserve(newMember(), 0)).toBeUndefined();
    expect(await store.pools.reserve(newMember(), 2)).toBeUndefined();
    expect(await store.pools.reserve(newMember(), 3)).toHaveProperty('id');
    expect(await store.pools.reserve(newMember(), 3)).toBeUndefined();
    expect(await store.pools.members()).toHaveLength(13);
  });

  test('of many places asked for at once on several servers no more are given than there are', async () => {
    const { store, another } = subject();
    const servers = [store, await another(), await another(), await another()];
    // One more place each time: all ask for the last one in the same moment.
    for (let size = 1; size <= 20; size += 1) {
      const answers = await Promise.all(
        servers.map(({ pools }) => pools.reserve(newMember(), size)),
      );
      expect(answers.filter((answer) => answer !== undefined)).toHaveLength(1);
    }
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        (servers[n % 4] ?? store).pools.reserve(newMember(), 30),
      ),
    );
    expect(answers.filter((answer) => answer !== undefined)).toHaveLength(10);
    expect(await store.pools.members()).toHaveLength(30);
  });

  test('members take no slot of the limit', async () => {
    const { store } = subject();
    await put(store, { pool: 'default' });
    await put(store, { status: 'warm' });
    expect(await store.workspaces.admit(newWorkspace(), 1)).toHaveProperty('id');
    expect(await store.workspaces.admit(newWorkspace(), 1)).toEqual({ running: 1 });
    expect(await store.pools.reserve(newMember(), 10)).toHaveProperty('id');
  });

  test('members of a server that died are taken over like any other', async () => {
    const { store, another } = subject();
    const gone = await another();
    for (const status of workspaceStatuses) {
      if (['creating', 'warm', 'destroying', 'error'].includes(status)) {
        await put(gone, { pool: 'default', status });
      }
    }
    expect(await store.workspaces.abandoned()).toEqual([]);
    await gone[Symbol.asyncDispose]();
    const taken = await store.workspaces.takeOver();
    expect(new Set(taken.map(({ status }) => status))).toEqual(new Set(['creating', 'destroying']));
  });
}
