import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { isChanging, workspaceStatuses, type Workspace } from '../../src/domain/workspace.ts';
import { mcpServer } from './fixtures/mcp-servers.ts';
import { change, put } from './fixtures/workspaces.ts';
import type { Subject } from './suite.ts';

const start = Date.parse('2026-01-02T03:04:05.678Z');
const at = (seconds: number): Date => new Date(start + seconds * 1_000);
const hour = { ttlSeconds: 3_600, expiresAt: at(3_600) };

export function expiryTests(subject: () => Subject): void {
  test('a use moves both times ahead, by the TTL, without raising the version', async () => {
    const { store } = subject();
    const row = await put(store, { status: 'ready', ...hour });
    const touched = await store.workspaces.touch(row.id, at(60));
    expect(touched).toEqual({ ...row, lastUsedAt: at(60), expiresAt: at(3_660) });
    expect(await store.workspaces.get(row.id)).toEqual(touched);
  });

  test('a use by somebody who does not own it changes nothing', async () => {
    const { store } = subject();
    const row = await put(store, { status: 'ready', ...hour });
    expect(await store.workspaces.touch(row.id, at(60), 'somebody')).toBeUndefined();
    expect(await store.workspaces.get(row.id)).toEqual(row);
    expect(await store.workspaces.touch(row.id, at(60), row.owner)).toMatchObject({
      lastUsedAt: at(60),
    });
  });

  test('a use that is told late sets nothing back', async () => {
    const { store } = subject();
    const { id } = await put(store, { status: 'ready', ...hour });
    const touched = await store.workspaces.touch(id, at(60));
    expect(await store.workspaces.touch(id, at(30))).toEqual(touched);
  });

  test('an expiry that was set further ahead stays', async () => {
    const { store } = subject();
    const row = await put(store, { status: 'ready', ttlSeconds: 3_600, expiresAt: at(1_000_000) });
    expect(await store.workspaces.touch(row.id, at(60))).toEqual({ ...row, lastUsedAt: at(60) });
  });

  test('what never expires does not begin to', async () => {
    const { store } = subject();
    const { id } = await put(store, { status: 'ready', ttlSeconds: 60, expiresAt: null });
    expect(await store.workspaces.touch(id, at(60))).toMatchObject({ expiresAt: null });
  });

  test.each(workspaceStatuses.filter((status) => status !== 'ready'))(
    'only a ready one is used, not one that is %s',
    async (status) => {
      const { store } = subject();
      const row = await put(store, { status, ...hour });
      expect(await store.workspaces.touch(row.id, at(60))).toBeUndefined();
      expect(await store.workspaces.get(row.id)).toEqual(row);
    },
  );

  test('a use of what is not there is undefined', async () => {
    expect(await subject().store.workspaces.touch(randomUUID(), at(0))).toBeUndefined();
  });

  test('an expired row is claimed for destruction by this server', async () => {
    const { store, another } = subject();
    const row = await put(store, { status: 'stopped', ...hour });
    expect(await store.workspaces.claimExpired(at(3_599), [], 10)).toEqual([]);
    const [claimed] = await store.workspaces.claimExpired(at(3_600), [], 10);
    expect(claimed).toEqual({ ...row, status: 'destroying', version: 3 });
    const other = await another();
    expect(await other.workspaces.remove(row.id, 'reaper')).toBe(false);
    expect((await store.events.list({ limit: 1 }))[0]).toMatchObject({
      at: at(3_600),
      workspaceId: row.id,
      owner: row.owner,
      actor: 'reaper',
      type: 'workspace.destroying',
      detail: { reason: 'expired', expires_at: at(3_600).toISOString() },
    });
    expect(await store.workspaces.remove(row.id, 'reaper')).toBe(true);
  });

  test('every resting status expires, no changing one does, nor what is in a pool', async () => {
    const { store } = subject();
    const rows: Workspace[] = [];
    for (const status of workspaceStatuses) rows.push(await put(store, { status, ...hour }));
    rows.push(await put(store, { status: 'error', pool: 'default', ...hour }));
    const claimed = await store.workspaces.claimExpired(at(3_600), [], 100);
    expect(new Set(claimed.map(({ id }) => id))).toEqual(
      new Set(
        rows.filter(({ status, pool }) => !isChanging(status) && pool === null).map(({ id }) => id),
      ),
    );
  });

  test('persistent MCP servers, what never expires and the excepted ones are left alone', async () => {
    const { store, database } = subject();
    await put(store, { status: 'ready', ...mcpServer({ name: 'one' }) });
    await put(store, { status: 'ready' });
    const busy = await put(store, { status: 'ready', ...hour });
    expect(await store.workspaces.claimExpired(at(1e9), [busy.id], 10)).toEqual([]);
    // The schema keeps such a row from ever having a time; the reaper would leave it alone even so.
    await database.query(
      'alter table kb.agent_workspaces drop constraint persistent_mcp_server_never_expires',
    );
    try {
      await put(store, { status: 'ready', ...mcpServer({ name: 'two' }), ...hour });
      expect(await store.workspaces.claimExpired(at(1e9), [busy.id], 10)).toEqual([]);
    } finally {
      await database.query('truncate kb.agent_workspaces cascade');
      await database.query(
        `alter table kb.agent_workspaces add constraint persistent_mcp_server_never_expires check (
           not (container_type = 'mcp_server' and lifecycle = 'persistent') or expires_at is null
         )`,
      );
    }
  });

  test('no more than the limit at once, the longest expired first', async () => {
    const { store } = subject();
    const younger = await put(store, { status: 'ready', expiresAt: at(20) });
    const older = await put(store, { status: 'ready', expiresAt: at(10) });
    const claim = async (): Promise<readonly string[]> =>
      (await store.workspaces.claimExpired(at(30), [], 1)).map(({ id }) => id);
    expect(await claim()).toEqual([older.id]);
    expect(await claim()).toEqual([younger.id]);
    expect(await claim()).toEqual([]);
  });

  test('two servers at once claim each of 200 expired rows once', async () => {
    const { store, another, database } = subject();
    const seed = await put(store, { status: 'ready', ...hour });
    await database.query(
      `insert into kb.agent_workspaces
       select copy.*
         from kb.agent_workspaces seed, generate_series(2, 200) n,
              jsonb_populate_record(seed, jsonb_build_object('id', gen_random_uuid(), 'branch', n)) copy
        where seed.id = $1`,
      [seed.id],
    );
    const other = await another();
    const claims = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        (n % 2 ? store : other).workspaces.claimExpired(at(3_600), [], 10),
      ),
    );
    const claimed = claims.flat().map(({ id }) => id);
    const rest = await store.workspaces.claimExpired(at(3_600), [], 1_000);
    const all = [...claimed, ...rest.map(({ id }) => id)];
    expect(all).toHaveLength(200);
    expect(new Set(all).size).toBe(200);
    const events = await store.events.list({ types: ['workspace.destroying'], limit: 1_000 });
    expect(events).toHaveLength(200);
  });

  test('a use and the claim at once: one of them wins', async () => {
    const { store, another } = subject();
    const other = await another();
    for (let n = 0; n < 20; n += 1) {
      const { id } = await put(store, { status: 'ready', ...hour });
      const [touched, claimed] = await Promise.all([
        store.workspaces.touch(id, at(3_600)),
        other.workspaces.claimExpired(at(3_600), [], 1),
      ]);
      expect(touched === undefined).toBe(claimed.length === 1);
      const row = await store.workspaces.get(id);
      expect(row?.status).toBe(touched ? 'ready' : 'destroying');
      if (touched) await store.workspaces.transition(id, change(['ready'], 'stopping'));
    }
  });
}
