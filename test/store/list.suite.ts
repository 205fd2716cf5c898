import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { NewWorkspace, WorkspaceQuery } from '../../src/domain/store.ts';
import type { Workspace } from '../../src/domain/workspace.ts';
import { mcpServer } from './fixtures/mcp-servers.ts';
import { change, put } from './fixtures/workspaces.ts';
import type { Subject } from './suite.ts';

export function listTests(subject: () => Subject): void {
  const insertAll = async (rows: readonly Partial<NewWorkspace>[]): Promise<Workspace[]> => {
    const inserted: Workspace[] = [];
    for (const row of rows) inserted.push(await put(subject().store, row));
    return inserted;
  };
  /** Every page to the end; fails rather than loop for ever. */
  const pages = async (
    query: WorkspaceQuery,
    between?: () => Promise<void>,
  ): Promise<Workspace[][]> => {
    const seen: Workspace[][] = [];
    let cursor: string | null = null;
    do {
      const page = await subject().store.workspaces.list({ ...query, ...(cursor && { cursor }) });
      seen.push([...page.items]);
      cursor = page.nextCursor;
      await between?.();
      expect(seen.length).toBeLessThan(100);
    } while (cursor !== null);
    return seen;
  };

  test('an empty table is one empty page', async () => {
    expect(await subject().store.workspaces.list({ limit: 10 })).toEqual({
      items: [],
      nextCursor: null,
    });
  });

  test('newest first', async () => {
    const [oldest, newest, middle] = await insertAll([
      { createdAt: new Date('2026-01-01Z') },
      { createdAt: new Date('2026-01-03Z') },
      { createdAt: new Date('2026-01-02Z') },
    ]);
    const { items } = await subject().store.workspaces.list({ limit: 10 });
    expect(items).toEqual([newest, middle, oldest]);
  });

  test('filters choose rows, together and alone', async () => {
    const [first, second, third] = await insertAll([
      { owner: 'a', provider: 'gvisor', status: 'ready', ...mcpServer() },
      { owner: 'a', provider: 'memory', status: 'error' },
      { owner: 'b', provider: 'gvisor', status: 'ready' },
    ]);
    const ids = async (filters: Partial<WorkspaceQuery>): Promise<Set<string>> => {
      const { items } = await subject().store.workspaces.list({ limit: 10, ...filters });
      return new Set(items.map(({ id }) => id));
    };
    const set = (...rows: (Workspace | undefined)[]): Set<string | undefined> =>
      new Set(rows.map((row) => row?.id));
    expect(await ids({})).toEqual(set(first, second, third));
    expect(await ids({ owner: 'a' })).toEqual(set(first, second));
    expect(await ids({ provider: 'gvisor' })).toEqual(set(first, third));
    expect(await ids({ status: 'error' })).toEqual(set(second));
    expect(await ids({ containerType: 'mcp_server' })).toEqual(set(first));
    expect(await ids({ owner: 'b', provider: 'gvisor', status: 'ready' })).toEqual(set(third));
    expect(await ids({ owner: 'b', status: 'error' })).toEqual(set());
  });

  test('members of a pool are left out, unless those that wait are asked for', async () => {
    const [mine, , warm] = await insertAll([
      { status: 'error' },
      { pool: 'default' },
      { status: 'warm' },
      { pool: 'default', status: 'error' },
      { pool: 'default', status: 'destroying' },
    ]);
    const { workspaces } = subject().store;
    const items = async (filters: Partial<WorkspaceQuery>): Promise<readonly Workspace[]> =>
      (await workspaces.list({ limit: 10, ...filters })).items;
    expect(await items({})).toEqual([mine]);
    expect(await items({ status: 'error' })).toEqual([mine]);
    expect(await items({ status: 'creating' })).toEqual([]);
    expect(await items({ status: 'warm' })).toEqual([warm]);
    expect(await items({ status: 'warm', owner: 'owner-1' })).toEqual([]);
  });

  test('pages over equal times hold every row once', async () => {
    const createdAt = new Date('2026-01-01T00:00:00.123Z');
    const rows = await insertAll(Array.from({ length: 10 }, () => ({ createdAt })));
    const seen = await pages({ limit: 3 });
    expect(seen.map((page) => page.length)).toEqual([3, 3, 3, 1]);
    expect(new Set(seen.flat().map(({ id }) => id))).toEqual(new Set(rows.map(({ id }) => id)));
  });

  test('the last full page has no next one', async () => {
    await insertAll([{}, {}, {}, {}]);
    expect((await pages({ limit: 2 })).map((page) => page.length)).toEqual([2, 2]);
  });

  test('pages hold every row once when times differ by microseconds', async () => {
    const [seed] = await insertAll([{ createdAt: new Date('2026-01-01T00:00:00Z') }]);
    await subject().database.query(
      `insert into kb.agent_workspaces
       select copy.*
         from kb.agent_workspaces seed,
              generate_series(1, 40) n,
              jsonb_populate_record(seed, jsonb_build_object(
                'id', gen_random_uuid(),
                'created_at', seed.created_at + n * interval '137 microseconds'
              )) copy
        where seed.id = $1`,
      [seed?.id ?? ''],
    );
    const seen = (await pages({ limit: 7 })).flat();
    expect(seen).toHaveLength(41);
    expect(new Set(seen.map(({ id }) => id)).size).toBe(41);
  });

  test('rows that come and go between pages disturb no other row', async () => {
    const at = (ms: number): Date => new Date(Date.parse('2026-01-01Z') + ms);
    const rows = await insertAll(
      Array.from({ length: 9 }, (_, index) => ({ createdAt: at(index), status: 'error' as const })),
    );
    const destroy = async (id: string): Promise<void> => {
      const { workspaces } = subject().store;
      await workspaces.transition(id, change(['error'], 'destroying'));
      expect(await workspaces.remove(id, 'somebody')).toBe(true);
    };
    let turn = 0;
    const seen = await pages({ limit: 3 }, async () => {
      turn += 1;
      await insertAll([{ createdAt: at(1_000 + turn) }]);
      // The newest row, already shown: a list that counts rows would now skip one.
      if (turn === 1) await destroy(rows[8]?.id ?? '');
    });
    expect(seen.flat().map(({ id }) => id)).toEqual(rows.toReversed().map(({ id }) => id));
  });

  test('a filter holds over every page', async () => {
    await insertAll(Array.from({ length: 6 }, (_, index) => ({ owner: index % 2 ? 'a' : 'b' })));
    const seen = await pages({ limit: 2, owner: 'a' });
    expect(seen.flat().map(({ owner }) => owner)).toEqual(['a', 'a', 'a']);
  });

  test.each([
    ['empty', ''],
    ['not base64', '%%%'],
    ['other text', Buffer.from('hello').toString('base64url')],
    ['no such day', Buffer.from(`2026-02-31T00:00:00.000Z ${randomUUID()}`).toString('base64url')],
    ['no id', Buffer.from('2026-01-01T00:00:00.000Z x').toString('base64url')],
    ['SQL', Buffer.from(`2026-01-01T00:00:00.000Z ' or true --`).toString('base64url')],
    [
      'another spelling',
      Buffer.from(`2026-01-01T00:00:00.000Z ${randomUUID()}`).toString('base64') + '==',
    ],
  ])('a cursor that was never handed out is refused: %s', async (_, cursor) => {
    await expect(subject().store.workspaces.list({ limit: 1, cursor })).rejects.toMatchObject({
      code: 'invalid_value',
    });
  });
}
