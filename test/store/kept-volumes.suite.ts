import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { NewWorkspace } from '../../src/domain/store.ts';
import type { Workspace } from '../../src/domain/workspace.ts';
import { fullState, mcpServer, newMcpServer } from './fixtures/mcp-servers.ts';
import { change, noLimit, put } from './fixtures/workspaces.ts';
import type { Subject } from './suite.ts';

const paths = ['/data', '/var/lib/a b'];
const withVolumes = mcpServer({ name: 'memory', volumes: paths });

export function keptVolumesTests(subject: () => Subject): void {
  const putDestroying = (overrides: Partial<NewWorkspace> = {}): Promise<Workspace> =>
    put(subject().store, { status: 'destroying', ...withVolumes, ...overrides });
  /** One that is gone, but for its volumes. */
  const keep = async (overrides: Partial<NewWorkspace> = {}): Promise<Workspace> => {
    const row = await putDestroying(overrides);
    expect(await subject().store.mcp.removeKeeping(row.id, 'somebody')).toBe(true);
    return row;
  };

  test('the row goes, with its event, and its volumes are noted', async () => {
    const { store } = subject();
    const row = await putDestroying({ provider: 'gvisor' });
    await store.mcp.saveState(row.id, fullState);
    expect(await store.mcp.removeKeeping(row.id, 'somebody', { why: 'asked' })).toBe(true);
    expect(await store.workspaces.get(row.id)).toBeUndefined();
    expect(await store.mcp.states()).toEqual(new Map());
    expect((await store.events.list({ limit: 1 }))[0]).toMatchObject({
      ...{ workspaceId: row.id, owner: row.owner, actor: 'somebody' },
      ...{ type: 'workspace.destroyed', detail: { why: 'asked' } },
    });
    expect(await store.mcp.kept()).toEqual([
      {
        ...{ id: row.id, owner: row.owner, name: 'memory', provider: 'gvisor', paths },
        sandboxName: row.providerWorkspaceId,
        keptAt: expect.any(Date) as unknown,
      },
    ]);
    expect(await store.mcp.removeKeeping(row.id, 'somebody')).toBe(false);
  });

  test('a server without volumes leaves nothing to keep', async () => {
    await keep(mcpServer({ volumes: [] }));
    expect(await subject().store.mcp.kept()).toEqual([]);
    await put(subject().store, mcpServer());
  });

  test('only its operator removes it, and only while it is being destroyed', async () => {
    const { store, another } = subject();
    const other = await another();
    const row = await put(store, { status: 'ready', ...withVolumes });
    expect(await store.mcp.removeKeeping(row.id, 'somebody')).toBe(false);
    await store.workspaces.transition(row.id, change(['ready'], 'destroying'));
    expect(await other.mcp.removeKeeping(row.id, 'somebody')).toBe(false);
    expect(await store.mcp.kept()).toEqual([]);
    expect(await store.mcp.removeKeeping(row.id, 'somebody')).toBe(true);
  });

  test('a workspace is no MCP server', async () => {
    const { store } = subject();
    const { id } = await put(store, { status: 'destroying' });
    expect(await store.mcp.removeKeeping(id, 'somebody')).toBe(false);
    expect(await store.workspaces.get(id)).toBeDefined();
  });

  test('those of one owner or of all, oldest first', async () => {
    const { store, database } = subject();
    const a = await keep({ owner: 'alice' });
    const b = await keep({ owner: 'bob' });
    const c = await keep({ owner: 'alice', ...mcpServer({ name: 'c', volumes: ['/c'] }) });
    for (const [index, { id }] of [c, b, a].entries()) {
      await database.query(
        `update kb.kept_volumes set kept_at = '2026-01-01'::timestamptz + $2::interval where id = $1`,
        [id, `${String(index)} hours`],
      );
    }
    const ids = async (owner?: string): Promise<readonly string[]> =>
      (await store.mcp.kept(owner)).map(({ id }) => id);
    expect(await ids()).toEqual([c.id, b.id, a.id]);
    expect(await ids('alice')).toEqual([c.id, a.id]);
    expect(await ids('carol')).toEqual([]);
  });

  test('the next of the same owner and name takes them up, under the same id', async () => {
    const { store } = subject();
    const { id } = await keep();
    await expect(put(store, withVolumes)).rejects.toMatchObject({
      code: 'name_taken',
      message: expect.stringContaining(id) as unknown,
    });
    expect(await store.mcp.kept()).toHaveLength(1);
    expect(await put(store, { id, ...withVolumes })).toMatchObject({ id, version: 1 });
    expect(await store.mcp.kept()).toEqual([]);
  });

  test('one that is brought up on files that are there begins as resuming, and has been ready', async () => {
    const { store } = subject();
    const { id } = await keep();
    const readyAt = new Date('2026-01-01T00:00:00.001Z');
    const row = await store.workspaces.admit(newMcpServer({}, { id, readyAt }), noLimit);
    expect(row).toMatchObject({ status: 'resuming', readyAt });
    expect(await store.workspaces.get(id)).toEqual(row);
    expect((await store.events.list({ limit: 1 }))[0]).toMatchObject({
      type: 'workspace.resuming',
    });
    const ready = change(['resuming'], 'ready', { own: true });
    expect(await store.workspaces.transition(id, ready)).toMatchObject({ readyAt });
  });

  test('they stand in nobody else’s way', async () => {
    const { store } = subject();
    await keep();
    await put(store, { ...withVolumes, owner: 'somebody' });
    await put(store, mcpServer({ name: 'other' }));
    expect(await store.mcp.kept()).toHaveLength(1);
  });

  test.each([
    ['under another name', mcpServer({ name: 'other' })],
    ['by another owner', { ...withVolumes, owner: 'somebody' }],
  ])('they are not taken up %s', async (_, overrides) => {
    const { store } = subject();
    const { id } = await keep();
    await expect(put(store, { id, ...overrides })).rejects.toMatchObject({ code: 'name_taken' });
    expect(await store.mcp.kept()).toHaveLength(1);
    expect(await store.mcp.servers()).toEqual([]);
  });

  test('an admission that fails leaves them kept', async () => {
    const { store } = subject();
    const { id } = await keep();
    await expect(put(store, { id, ...withVolumes, provider: 'NO NAME' })).rejects.toThrow(
      'provider_name',
    );
    expect(await store.mcp.kept()).toHaveLength(1);
  });

  test('forgotten ones are gone, once, and their name is free', async () => {
    const { store } = subject();
    const { id } = await keep();
    expect(await store.mcp.forgetKept(randomUUID())).toBe(false);
    const answers = await Promise.all([store.mcp.forgetKept(id), store.mcp.forgetKept(id)]);
    expect(answers.filter(Boolean)).toHaveLength(1);
    expect(await store.mcp.kept()).toEqual([]);
    await put(store, withVolumes);
  });

  test('the log goes on knowing a server whose volumes are kept', async () => {
    const { id } = await keep();
    expect(await subject().store.events.known([id])).toEqual(new Set([id]));
  });

  test('a name is never both kept and given to another, however many ask while it goes', async () => {
    const { store, another } = subject();
    const other = await another();
    for (let round = 0; round < 10; round += 1) {
      const name = `server-${String(round)}`;
      const config = { name, volumes: paths };
      const { id } = await putDestroying(mcpServer(config));
      const admissions = Array.from({ length: 6 }, (_, n) =>
        (n % 2 ? store : other).workspaces.admit(newMcpServer(config), noLimit),
      );
      const [removed, ...answers] = await Promise.allSettled([
        store.mcp.removeKeeping(id, 'somebody'),
        ...admissions,
      ]);
      expect(removed).toEqual({ status: 'fulfilled', value: true });
      expect(answers.map(({ status }) => status)).toEqual(Array(6).fill('rejected'));
      expect(await store.mcp.find(name)).toEqual([]);
    }
    expect(await store.mcp.kept()).toHaveLength(10);
  });
}
