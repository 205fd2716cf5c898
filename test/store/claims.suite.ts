import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { NewWorkspace, Refused, Store } from '../../src/domain/store.ts';
import type { Workspace } from '../../src/domain/workspace.ts';
import { mcpServer } from './fixtures/mcp-servers.ts';
import { change, newMember, newWorkspace, noLimit, put } from './fixtures/workspaces.ts';
import type { Subject } from './suite.ts';

export function claimTests(subject: () => Subject): void {
  const claim = (
    store: Store,
    overrides: Partial<NewWorkspace> = {},
    limit = noLimit,
    key = 'key-1',
  ): Promise<Workspace | Refused | undefined> =>
    store.pools.claim(key, newWorkspace(overrides), limit);
  const idsOf = (answers: readonly (Workspace | Refused | undefined)[]): readonly string[] =>
    answers.flatMap((answer) => (answer && 'id' in answer ? [answer.id] : []));

  test('the row is the request’s, the sandbox in it as it was made', async () => {
    const { store, another } = subject();
    const maker = await another();
    const member = await put(maker, {
      status: 'warm',
      providerWorkspaceId: 'sandbox-1',
      image: 'member-image',
      network: 'isolated',
      resourceLimits: { cpu: 1, memoryBytes: 2, diskBytes: 3 },
      snapshotId: 'snapshot-1',
      metadata: { steps: { start: 1 }, both: 'member' },
      createdAt: new Date('2026-01-01Z'),
    });
    const workspace = newWorkspace({
      owner: 'alice',
      agentSessionId: 'session-1',
      provider: 'another',
      repositoryUrl: 'https://example.com/a.git',
      branch: 'main',
      deploymentMode: 'managed',
      lifecycle: 'persistent',
      desiredState: 'stopped',
      metadata: { title: 'mine', both: 'request', warm_pool: 'a guess' },
      sealedEnv: 'c2VhbGVk',
      announced: true,
      createdAt: new Date('2026-02-01T00:00:00.001Z'),
      lastUsedAt: new Date('2026-02-01T00:00:00.002Z'),
      ttlSeconds: 60,
      expiresAt: new Date('2026-02-01T00:01:00.002Z'),
    });
    const claimed = await store.pools.claim('key-1', workspace, noLimit);
    expect(claimed).toEqual({
      ...workspace,
      id: member.id,
      provider: 'memory',
      providerWorkspaceId: 'sandbox-1',
      image: 'member-image',
      network: 'isolated',
      resourceLimits: { cpu: 1, memoryBytes: 2, diskBytes: 3 },
      snapshotId: 'snapshot-1',
      metadata: { steps: { start: 1 }, title: 'mine', both: 'member', warm_pool: 'default' },
      status: 'creating',
      statusReason: null,
      readyAt: null,
      pool: null,
      poolKey: null,
      version: 3,
    });
    expect(await store.workspaces.get(member.id)).toEqual(claimed);
    expect(await store.workspaces.get(workspace.id)).toBeUndefined();
    expect((await store.events.list({ limit: 1 }))[0]).toMatchObject({
      workspaceId: member.id,
      owner: 'alice',
      actor: 'alice',
      type: 'workspace.creating',
      detail: { provider: 'memory', image: 'member-image', warm_pool: 'default' },
    });
  });

  test('who claims is its operator', async () => {
    const { store, another } = subject();
    const maker = await another();
    const { id } = await put(maker, { status: 'warm' });
    await claim(store);
    const ready = change(['creating'], 'ready', { own: true });
    expect(await maker.workspaces.transition(id, ready)).toBeUndefined();
    expect(await store.workspaces.transition(id, ready)).toMatchObject({ status: 'ready' });
  });

  test('one whose answer was lost is given up by the id of the workspace that it was for', async () => {
    const { store, another } = subject();
    const other = await another();
    const { id } = await put(store, { status: 'warm' });
    const workspace = newWorkspace();
    await store.pools.claim('key-1', workspace, noLimit);
    await other.workspaces.release(workspace.id);
    expect(await other.workspaces.takeOver()).toEqual([]);
    await store.workspaces.release(workspace.id);
    expect((await other.workspaces.takeOver()).map((row) => row.id)).toEqual([id]);
  });

  test('none is given that is of another key or does not wait', async () => {
    const { store } = subject();
    for (const status of ['creating', 'destroying', 'error'] as const) {
      await put(store, { pool: 'default', status });
    }
    await put(store, { status: 'warm', poolKey: 'key-2' });
    const before = await store.workspaces.all();
    const answer = store.pools.claim('key-1', newWorkspace(), noLimit);
    expect(await answer).toBeUndefined();
    // Not even where no more may run: that is for the admission to say.
    expect(await claim(store, {}, 0)).toBeUndefined();
    expect(await store.workspaces.all()).toEqual(before);
  });

  test('the longest waiting goes first, whichever pool of the key it is in', async () => {
    const { store } = subject();
    // Neither in the order of the ids nor in that of writing.
    const wait = async (day: number, pool: string): Promise<string> => {
      const id = `0000000${String(9 - day)}-0000-4000-8000-000000000000`;
      const createdAt = new Date(`2026-01-0${String(day)}Z`);
      return (await put(store, { id, status: 'warm', pool, createdAt })).id;
    };
    const second = await wait(2, 'default');
    const third = await wait(3, 'other');
    const first = await wait(1, 'other');
    const answers = [await claim(store), await claim(store), await claim(store)];
    expect(idsOf(answers)).toEqual([first, second, third]);
    expect(await claim(store)).toBeUndefined();
  });

  test('beyond the limit it is refused, and the member goes on waiting', async () => {
    const { store } = subject();
    const member = await put(store, { status: 'warm' });
    await put(store, { pool: 'default' });
    await put(store, { status: 'ready' });
    await put(store, { ...mcpServer(), status: 'ready' });
    const answer = store.pools.claim('key-1', newWorkspace(), 1);
    expect(await answer).toEqual({ running: 1 });
    expect(await store.workspaces.get(member.id)).toEqual(member);
    expect(idsOf([await claim(store, {}, 2)])).toEqual([member.id]);
    expect(await store.workspaces.admit(newWorkspace(), 2)).toEqual({ running: 2 });
  });

  test('of many claims at once on three servers none gets another’s', async () => {
    const { store, another } = subject();
    const servers = [store, await another(), await another()];
    const waiting = await Promise.all(
      Array.from({ length: 20 }, () => put(store, { status: 'warm' })),
    );
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, n) => claim(servers[n % 3] ?? store, { owner: String(n) })),
    );
    const claimed = idsOf(answers);
    expect(claimed).toHaveLength(20);
    expect(new Set(claimed)).toEqual(new Set(waiting.map(({ id }) => id)));
    expect(answers.filter((answer) => answer === undefined)).toHaveLength(40);
    for (const answer of answers) {
      if (answer && 'id' in answer) expect(await store.workspaces.get(answer.id)).toEqual(answer);
    }
    expect(await store.pools.members()).toEqual([]);
  });

  test('claims, creates and places in the pool at once share the slots', async () => {
    const { store, another } = subject();
    const servers = [store, await another()];
    for (let n = 0; n < 20; n += 1) await put(store, { status: 'warm' });
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, n) => servers[n % 2] ?? store).flatMap((server) => [
        claim(server, {}, 10),
        server.workspaces.admit(newWorkspace(), 10),
        server.pools.reserve(newMember(), 200).then(() => undefined),
      ]),
    );
    expect(idsOf(answers)).toHaveLength(10);
    const running = (await store.workspaces.all()).filter(({ pool }) => pool === null);
    expect(running).toHaveLength(10);
  });

  test('of a claim and a retirement at once one has it', async () => {
    const { store, another } = subject();
    const other = await another();
    const retire = change(['warm'], 'destroying', { by: 'warm-pool' });
    for (let turn = 0; turn < 10; turn += 1) {
      const { id } = await put(store, { status: 'warm' });
      const [claimed, retired] = await Promise.all([
        claim(store),
        other.workspaces.transition(id, retire),
      ]);
      expect([claimed, retired].filter((answer) => answer !== undefined)).toHaveLength(1);
      expect((await store.workspaces.get(id))?.pool).toBe(claimed ? null : 'default');
    }
  });

  test('a value that cannot be held fails the claim, and the member goes on waiting', async () => {
    const { store } = subject();
    const member = await put(store, { status: 'warm' });
    const workspace = newWorkspace({ id: randomUUID(), metadata: { a: 'a\0b' } });
    await expect(store.pools.claim('key-1', workspace, noLimit)).rejects.toMatchObject({
      code: 'invalid_value',
    });
    expect(await store.workspaces.get(member.id)).toEqual(member);
  });
}
