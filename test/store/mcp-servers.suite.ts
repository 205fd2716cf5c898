import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { mcpEventKinds } from '../../src/domain/events.ts';
import { restartPolicies } from '../../src/domain/mcp-config.ts';
import { untriedMcpState, type McpState } from '../../src/domain/mcp.ts';
import type { NewWorkspace } from '../../src/domain/store.ts';
import { fullState, mcpServer, newMcpServer } from './fixtures/mcp-servers.ts';
import { change, noLimit, put } from './fixtures/workspaces.ts';
import type { Subject } from './suite.ts';

const at = (second: number): Pick<NewWorkspace, 'createdAt'> => ({
  createdAt: new Date(Date.UTC(2026, 0, 2, 3, 4, second)),
});

export function mcpServerTests(subject: () => Subject): void {
  /** One that this server hosts. */
  const hosted = async (): Promise<string> => {
    const { id } = await put(subject().store, mcpServer());
    return id;
  };
  const stateOf = async (id: string): Promise<McpState | undefined> =>
    (await subject().store.mcp.states([id])).get(id);

  test.each(restartPolicies)('a configuration comes back as it was written: %s', async (policy) => {
    const { store } = subject();
    for (const [index, config] of [
      { restartPolicy: policy },
      { restartPolicy: policy, command: 'a', args: [], workdir: '/', volumes: ['/data'] },
      { transport: { kind: 'http', port: 1, path: '/' } as const, maxInFlight: 1, shared: true },
    ].entries()) {
      const server = newMcpServer({ ...config, name: `server-${String(index)}` });
      const row = await store.workspaces.admit(server, noLimit);
      expect(row).toMatchObject({ mcpConfig: server.mcpConfig });
      expect(await store.workspaces.get(server.id)).toEqual(row);
    }
  });

  test('a configuration that no code wrote is named, not passed on', async () => {
    const { store, database } = subject();
    const { id } = await put(store, mcpServer());
    await database.query(
      `update kb.agent_workspaces
          set mcp_config = mcp_config || '{"restart_policy": "sometimes"}'
        where id = $1`,
      [id],
    );
    await expect(store.workspaces.get(id)).rejects.toMatchObject({
      code: 'internal',
      details: { column: 'restart_policy', value: 'sometimes' },
    });
  });

  test('a transition leaves the configuration as it is', async () => {
    const { store } = subject();
    const { id, mcpConfig } = await put(store, mcpServer());
    const ready = change(['creating'], 'ready', { changes: { metadata: { a: 1 } } });
    expect(await store.workspaces.transition(id, ready)).toMatchObject({ mcpConfig });
  });

  test('all of them are found, oldest first; by name, those of one owner or of all', async () => {
    const { store } = subject();
    await put(store);
    const young = await put(store, { ...mcpServer({ name: 'a' }), ...at(3), owner: 'bob' });
    const old = await put(store, { ...mcpServer({ name: 'a' }), ...at(1), owner: 'alice' });
    const other = await put(store, { ...mcpServer({ name: 'b' }), ...at(2), owner: 'alice' });
    const { mcp } = store;
    expect(await mcp.servers()).toEqual([old, other, young]);
    expect(await mcp.find('a')).toEqual([old, young]);
    expect(await mcp.find('a', 'alice')).toEqual([old]);
    expect(await mcp.find('b', 'bob')).toEqual([]);
    expect(await mcp.find('A')).toEqual([]);
    const query = { limit: 10, containerType: 'mcp_server', owner: 'alice' } as const;
    expect((await store.workspaces.list(query)).items).toEqual([other, old]);
  });

  test('a name is of one server of its owner; another owner may use it too', async () => {
    const { store } = subject();
    await put(store, mcpServer({ name: 'a' }));
    await expect(put(store, mcpServer({ name: 'a' }))).rejects.toMatchObject({
      code: 'name_taken',
      message: expect.stringContaining('"a"') as unknown,
      details: { name: 'a' },
    });
    await put(store, mcpServer({ name: 'A' }));
    await put(store, { ...mcpServer({ name: 'a' }), owner: 'somebody' });
    expect(await store.mcp.servers()).toHaveLength(3);
    expect(await store.events.list({ limit: 10 })).toHaveLength(3);
  });

  test('an id that is there already is not a name that is taken', async () => {
    const { store } = subject();
    const { id } = await put(store, mcpServer({ name: 'a' }));
    await expect(put(store, { id, ...mcpServer({ name: 'b' }) })).rejects.toMatchObject({
      code: '23505',
      constraint: 'agent_workspaces_pkey',
    });
  });

  test('of many that want a name at once, on two servers, one gets it', async () => {
    const { store, another } = subject();
    const other = await another();
    const answers = await Promise.allSettled(
      Array.from({ length: 20 }, (_, n) =>
        (n % 2 ? store : other).workspaces.admit(newMcpServer({ name: 'a' }), noLimit),
      ),
    );
    const refused = answers.filter((answer) => answer.status === 'rejected');
    expect(refused).toHaveLength(19);
    for (const { reason } of refused) expect(reason).toMatchObject({ code: 'name_taken' });
    expect(await store.mcp.servers()).toHaveLength(1);
  });

  test('the name of one that is gone is free again', async () => {
    const { store } = subject();
    const { id } = await put(store, { status: 'destroying', ...mcpServer() });
    await expect(put(store, mcpServer())).rejects.toMatchObject({ code: 'name_taken' });
    expect(await store.workspaces.remove(id, 'somebody')).toBe(true);
    await put(store, mcpServer());
  });

  test('a state comes back as it was written; one that was never started has none', async () => {
    const { store } = subject();
    const id = await hosted();
    expect(await store.mcp.states()).toEqual(new Map());
    const { run } = fullState;
    const states: readonly McpState[] = [
      untriedMcpState,
      fullState,
      { ...fullState, lastExit: { exitCode: 0, signal: null, at: new Date(0) }, run: null },
      { ...fullState, run: run && { ...run, introduction: null } },
    ];
    for (const state of states) {
      expect(await store.mcp.saveState(id, state)).toBe(true);
      expect(await store.mcp.states()).toEqual(new Map([[id, state]]));
    }
    expect((await store.mcp.states([id])).size).toBe(1);
    expect(await store.mcp.states([])).toEqual(new Map());
  });

  test('what a program says of itself cannot fail the statement that keeps it', async () => {
    const { store } = subject();
    const id = await hosted();
    const said = (text: string): McpState => ({
      ...fullState,
      run: {
        processId: 'p',
        startedAt: new Date(0),
        introduction: {
          protocolVersion: '2025-11-25',
          serverInfo: { name: text, version: '', [text]: [text] },
          capabilities: { [text]: { [text]: text } },
          instructions: text,
        },
      },
    });
    expect(await store.mcp.saveState(id, said('a\0b\ud800c\udfff\\\\u0000 🛰️ \\'))).toBe(true);
    expect(await stateOf(id)).toEqual(said('a\ufffdb\ufffdc\ufffd\\\\u0000 🛰️ \\'));
  });

  test('a state that no code wrote is named, not passed on', async () => {
    const { store, database } = subject();
    const id = await hosted();
    await store.mcp.saveState(id, fullState);
    await database.query(
      `update kb.mcp_state set state = jsonb_set(state, '{run,started_at}', '"yesterday"')`,
    );
    await expect(store.mcp.states()).rejects.toMatchObject({
      code: 'internal',
      details: { column: 'started_at', value: 'yesterday' },
    });
  });

  test('the state goes with its row', async () => {
    const { store, database } = subject();
    const { id } = await put(store, { status: 'destroying', ...mcpServer() });
    await store.mcp.saveState(id, fullState);
    await store.workspaces.remove(id, 'somebody');
    expect(await store.mcp.states()).toEqual(new Map());
    expect(await store.mcp.saveState(id, fullState)).toBe(false);
    expect(await database.query('select * from kb.mcp_state')).toEqual([]);
  });

  test.each(mcpEventKinds)(
    'what happens to the program of an MCP server is noted, and dropped when that is gone: %s',
    async (kind) => {
      const { store } = subject();
      const row = await put(store, { status: 'ready', ...mcpServer() });
      const event = {
        ...{ workspaceId: row.id, kind, at: new Date('2026-01-02T03:04:05.678Z') },
        ...{ detail: { exit_code: 1, text: 'a NUL \0 and half a pair \ud800' } },
      };
      await store.events.recordMcp(event);
      expect((await store.events.list({ limit: 1 }))[0]).toMatchObject({
        ...{ workspaceId: row.id, owner: row.owner, actor: 'mcp-host', at: event.at },
        ...{
          type: `mcp.${kind}`,
          detail: { exit_code: 1, text: 'a NUL \ufffd and half a pair \ufffd' },
        },
      });
      const gone = randomUUID();
      await store.events.recordMcp({ ...event, workspaceId: gone });
      expect(await store.events.list({ workspaceId: gone, limit: 1 })).toEqual([]);
    },
  );
}
