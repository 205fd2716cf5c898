import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { noticeOwner, type ToolCall } from '../../src/domain/events.ts';
import { change, newWorkspace, noLimit, put } from './fixtures/workspaces.ts';
import type { Subject } from './suite.ts';

export function eventTests(subject: () => Subject): void {
  const call = (overrides: Partial<ToolCall> = {}): ToolCall => ({
    workspaceId: randomUUID(),
    owner: 'owner-1',
    actor: 'somebody',
    tool: 'bash',
    at: new Date('2026-01-02T04:00:00.001Z'),
    detail: { subject: 'ls', duration_ms: 12, result: 'ok', exit_code: 0 },
    ...overrides,
  });
  const types = async (workspaceId: string): Promise<readonly string[]> => {
    const events = await subject().store.events.list({ workspaceId, after: 0, limit: 100 });
    return events.map(({ type }) => type);
  };
  /** How long ago the events were written, by the database's clock: what a missing id is judged by. */
  const writtenAgo = (ago: string): Promise<unknown> =>
    subject().database.query(
      'update kb.workspace_events set recorded_at = statement_timestamp() - $1::interval',
      [ago],
    );
  /** However slow the test runs, what is missing may still come. */
  const justNow = '-1 hour';
  const longAgo = '3 seconds';
  /** What a transaction that was rolled back leaves: an id that never comes. */
  const skipId = (): Promise<unknown> =>
    subject().database.query(`select nextval(pg_get_serial_sequence('kb.workspace_events', 'id'))`);

  test('every change of a workspace leaves an event, from the first to the last', async () => {
    const { workspaces } = subject().store;
    const { id } = await put(subject().store, { status: 'ready' });
    await workspaces.transition(id, change(['ready'], 'stopping'));
    await workspaces.transition(id, change(['stopping'], 'stopped', { own: true }));
    await workspaces.transitionWithin(id, change(['stopped'], 'resuming'), noLimit);
    await workspaces.transition(id, change(['resuming'], 'error'));
    await workspaces.transition(id, change(['error'], 'destroying'));
    await workspaces.remove(id, 'somebody');
    expect(await types(id)).toEqual(
      ['creating', 'ready', 'stopping', 'stopped', 'resuming', 'error', 'destroying', 'destroyed'] //
        .map((status) => `workspace.${status}`),
    );
  });

  test('an event says who, what and why', async () => {
    const { store } = subject();
    const { id } = await put(store, { provider: 'gvisor', image: 'base', owner: 'alice' });
    const detail = { attempts: [{ provider: 'e2b', reason: 'half a pair \ud800' }] };
    const changes = { statusReason: 'no disk' };
    await store.workspaces.transition(
      id,
      change(['creating'], 'error', { by: 'bob', detail, changes }),
    );
    await store.workspaces.transition(id, change(['error'], 'destroying'));
    await store.workspaces.remove(id, 'reconciler', { why: 'nobody waits for it' });
    const events = await store.events.list({ after: 0, limit: 10 });
    const common = { workspaceId: id, owner: 'alice' };
    expect(events).toMatchObject([
      { ...common, actor: 'alice', detail: { provider: 'gvisor', image: 'base' } },
      {
        ...common,
        actor: 'bob',
        type: 'workspace.error',
        detail: {
          attempts: [{ provider: 'e2b', reason: 'half a pair \ufffd' }],
          reason: 'no disk',
        },
      },
      { ...common, actor: 'somebody', detail: {} },
      { ...common, actor: 'reconciler', detail: { why: 'nobody waits for it' } },
    ]);
    expect(events[2]?.detail).toEqual({});
  });

  test('a notice is of no workspace, and nobody’s who owns one', async () => {
    const { store } = subject();
    await put(store);
    const notice = {
      type: 'provider.unhealthy',
      actor: 'health-monitor',
      at: new Date('2026-01-02T04:00:00.001Z'),
      detail: { provider: 'gvisor', reason: 'half a pair \ud800' },
    } as const;
    await store.events.recordNotice(notice);
    const [noted, ...others] = await store.events.list({ limit: 10 });
    expect(noted).toEqual({
      ...notice,
      id: expect.any(Number) as unknown,
      workspaceId: null,
      owner: noticeOwner,
      detail: { provider: 'gvisor', reason: 'half a pair \ufffd' },
    });
    expect(others).toHaveLength(1);
    const types = ['provider.unhealthy'] as const;
    expect(await store.events.list({ types, limit: 10 })).toEqual([noted]);
    expect(await store.events.list({ owner: 'owner-1', limit: 10 })).toEqual(others);
    expect(await store.events.list({ owner: 'owner-1', types, limit: 10 })).toEqual([]);
    expect(await store.events.prune(new Date('2026-01-03Z'))).toBe(1);
  });

  test('what changes nothing leaves no event', async () => {
    const { store, another } = subject();
    const other = await another();
    const { id } = await put(store, { status: 'ready' });
    const before = await store.events.newestId();
    await store.workspaces.transition(id, change(['stopped'], 'resuming'));
    await store.workspaces.transitionWithin(id, change(['stopped'], 'resuming'), 0);
    await other.workspaces.transition(id, change(['ready'], 'error', { own: true }));
    await store.workspaces.remove(id, 'somebody');
    await store.workspaces.touch(id, new Date());
    expect(await store.events.newestId()).toBe(before);
  });

  test('a change that fails takes its event with it, and an event that fails its change', async () => {
    const { store, database } = subject();
    const { id } = await put(store);
    const failing = change(['creating'], 'ready', { changes: { provider: 'NO NAME' } });
    await expect(store.workspaces.transition(id, failing)).rejects.toThrow('provider_name');
    await expect(store.workspaces.admit(newWorkspace({ id }), noLimit)).rejects.toThrow();
    expect(await types(id)).toEqual(['workspace.creating']);

    await database.query(
      `alter table kb.workspace_events add constraint refuse check (type = 'workspace.creating')`,
    );
    try {
      const ready = change(['creating'], 'ready');
      await expect(store.workspaces.transition(id, ready)).rejects.toThrow('refuse');
      expect(await store.workspaces.get(id)).toMatchObject({ status: 'creating', version: 1 });
    } finally {
      await database.query('alter table kb.workspace_events drop constraint refuse');
    }
  });

  test('a tool call is noted, and its time is a use of the workspace', async () => {
    const { store } = subject();
    const row = await put(store, {
      status: 'ready',
      ttlSeconds: 60,
      expiresAt: new Date('2026-01-02T04:00:00Z'),
    });
    const noted = call({ workspaceId: row.id });
    await store.events.recordCalls([noted]);
    const { tool, ...event } = noted;
    expect((await store.events.list({ limit: 1 }))[0]).toEqual({
      ...event,
      id: expect.any(Number) as unknown,
      type: `tool.${tool}`,
    });
    expect(await store.workspaces.get(row.id)).toEqual({
      ...row,
      lastUsedAt: noted.at,
      expiresAt: new Date('2026-01-02T04:01:00.001Z'),
    });
  });

  test('an incident is noted for the owner of its workspace, and dropped when that is gone', async () => {
    const { store } = subject();
    const row = await put(store, { status: 'ready' });
    const incident = {
      ...{ workspaceId: row.id, kind: 'memory_exceeded' as const },
      ...{ at: new Date('2026-01-02T03:04:05.678Z'), detail: { process: 'python3', bytes: 7 } },
    };
    await store.events.recordIncident(incident);
    expect((await store.events.list({ limit: 1 }))[0]).toMatchObject({
      ...{ workspaceId: row.id, owner: row.owner, actor: 'sandbox', at: incident.at },
      ...{ type: 'workspace.memory_exceeded', detail: incident.detail },
    });
    const gone = randomUUID();
    await store.events.recordIncident({ ...incident, workspaceId: gone });
    expect(await types(gone)).toEqual([]);
  });

  test('a call is noted also when the workspace is not ready, or gone', async () => {
    const { store } = subject();
    const row = await put(store, { status: 'destroying', ttlSeconds: 60 });
    await store.events.recordCalls([call({ workspaceId: row.id })]);
    expect(await store.workspaces.get(row.id)).toEqual(row);
    const gone = call();
    await store.events.recordCalls([gone]);
    expect(await types(gone.workspaceId)).toEqual(['tool.bash']);
  });

  test('without a place the newest come first; behind a place the oldest', async () => {
    const { store } = subject();
    const calls = Array.from({ length: 5 }, () => call());
    for (const each of calls) await store.events.recordCalls([each]);
    const order = calls.map(({ workspaceId }) => workspaceId);
    const newest = await store.events.list({ limit: 3 });
    expect(newest.map(({ workspaceId }) => workspaceId)).toEqual(order.toReversed().slice(0, 3));
    const after = (newest[2]?.id ?? 0) - 2;
    const behind = await store.events.list({ after, limit: 4 });
    expect(behind.map(({ workspaceId }) => workspaceId)).toEqual(order.slice(1));
    expect(await store.events.list({ after: await store.events.newestId(), limit: 1 })).toEqual([]);
  });

  test('filters choose events, together and alone', async () => {
    const { store } = subject();
    const one = call({ owner: 'alice' });
    const two = call({ owner: 'bob', tool: 'read_file' });
    const three = call({ owner: 'bob', workspaceId: two.workspaceId });
    for (const each of [one, two, three]) await store.events.recordCalls([each]);
    for (const after of [{}, { after: 0 }]) {
      const list = async (query: object): Promise<number> =>
        (await store.events.list({ ...query, ...after, limit: 10 })).length;
      expect(await list({})).toBe(3);
      expect(await list({ owner: 'alice' })).toBe(1);
      expect(await list({ workspaceId: two.workspaceId })).toBe(2);
      expect(await list({ types: ['tool.bash'] })).toBe(2);
      expect(await list({ types: ['tool.bash', 'tool.read_file'], owner: 'bob' })).toBe(2);
      expect(await list({ types: [] })).toBe(0);
      expect(await list({ owner: 'alice', workspaceId: two.workspaceId })).toBe(0);
    }
  });

  test('behind a place the list ends before a fresh gap, and goes on once it is old', async () => {
    const { store } = subject();
    const [one, two, three] = [call(), call(), call()];
    await store.events.recordCalls([one]);
    const first = await store.events.newestId();
    await skipId();
    await store.events.recordCalls([two]);
    await store.events.recordCalls([three]);
    await writtenAgo(justNow);
    const behind = async (after: number): Promise<readonly unknown[]> =>
      (await store.events.list({ after, limit: 10 })).map(({ workspaceId }) => workspaceId);
    expect(await behind(0)).toEqual([one.workspaceId]);
    expect(await behind(first)).toEqual([]);
    expect(await store.events.newestId()).toBe(first);
    expect(await store.events.list({ limit: 10 })).toHaveLength(3);
    // Who is past the gap is not held up by it.
    expect(await behind(first + 1)).toEqual([two.workspaceId, three.workspaceId]);
    await writtenAgo(longAgo);
    expect(await behind(first)).toEqual([two.workspaceId, three.workspaceId]);
    expect(await store.events.newestId()).toBe(first + 3);
  });

  test('a filter neither hides a gap nor makes one', async () => {
    const { store } = subject();
    const mine = { owner: 'alice' };
    await store.events.recordCalls([call(mine)]);
    await store.events.recordCalls([call()]);
    await store.events.recordCalls([call(mine)]);
    const list = async (): Promise<number> =>
      (await store.events.list({ ...mine, after: 0, limit: 10 })).length;
    expect(await list()).toBe(2);
    await skipId();
    await store.events.recordCalls([call()]);
    await store.events.recordCalls([call(mine)]);
    await writtenAgo(justNow);
    expect(await list()).toBe(2);
    await writtenAgo(longAgo);
    expect(await list()).toBe(3);
  });

  test('the log knows the workspaces it has had, also when they are gone', async () => {
    const { store } = subject();
    const { id } = await put(store, { status: 'destroying' });
    await store.workspaces.remove(id, 'somebody');
    const here = await put(store);
    const unknown = randomUUID();
    expect(await store.events.known([id, here.id, unknown])).toEqual(new Set([id, here.id]));
    expect(await store.events.known([])).toEqual(new Set());
  });

  test('pruning removes what is older, and says how many', async () => {
    const { store } = subject();
    const at = (day: number): Date => new Date(Date.UTC(2026, 0, day));
    for (const day of [1, 2, 3, 4]) await store.events.recordCalls([call({ at: at(day) })]);
    const counts = await Promise.all([store.events.prune(at(3)), store.events.prune(at(3))]);
    expect(counts.reduce((sum, count) => sum + count)).toBe(2);
    expect((await store.events.list({ limit: 10 })).map((event) => event.at)).toEqual([
      at(4),
      at(3),
    ]);
    expect(await store.events.prune(at(3))).toBe(0);
  });

  test('an empty log has no newest event', async () => {
    expect(await subject().store.events.newestId()).toBe(0);
  });
}
