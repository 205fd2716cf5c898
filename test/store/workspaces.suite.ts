import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { NewWorkspace } from '../../src/domain/store.ts';
import { workspaceStatuses } from '../../src/domain/workspace.ts';
import { mcpServer } from './fixtures/mcp-servers.ts';
import { change, newWorkspace, noLimit, put } from './fixtures/workspaces.ts';
import type { Subject } from './suite.ts';

const everyField: NewWorkspace = {
  id: '0190b6a0-1111-7222-8333-944444444444',
  owner: '0190b6a0-5555-7222-8333-944444444444',
  agentSessionId: 'session "1" \\ ünïcode 🛰️',
  containerType: 'mcp_server',
  provider: 'gvisor',
  providerWorkspaceId: 'agent-workspace-x',
  image: 'registry.example/image:tag@sha256:0',
  repositoryUrl: 'https://example.com/répertoire.git',
  branch: 'feature/日本語',
  deploymentMode: 'managed',
  lifecycle: 'ephemeral',
  status: 'creating',
  desiredState: 'stopped',
  network: 'isolated',
  resourceLimits: { cpu: 0.1, memoryBytes: 536_870_912, diskBytes: Number.MAX_SAFE_INTEGER },
  snapshotId: 'snapshot-1',
  mcpConfig: {
    name: 'mémoire',
    command: 'node',
    args: ['server.js', "quote ' and \n line", ''],
    workdir: '/srv/日本語',
    transport: { kind: 'http', port: 8080, path: '/mcp' },
    restartPolicy: 'always',
    volumes: ['/data', '/var/lib/a b'],
    maxInFlight: 1,
    initializeTimeoutMs: 12_345,
    shared: true,
  },
  metadata: {
    text: 'ünïcode 🛰️ 日本語',
    number: 0.1,
    large: Number.MAX_SAFE_INTEGER,
    none: null,
    nested: [{ a: [1, 'x', false, null] }],
    'key with "quotes"': '$1',
  },
  sealedEnv: 'c2VhbGVk',
  announced: true,
  createdAt: new Date('2026-01-02T03:04:05.678Z'),
  ttlSeconds: 2_592_000,
  lastUsedAt: new Date('2026-06-30T23:59:59.999Z'),
  expiresAt: new Date('2026-10-25T01:30:00.001Z'),
  pool: null,
  poolKey: null,
};

const fresh = { statusReason: null, readyAt: null, version: 1 };

export function workspaceTests(subject: () => Subject): void {
  test('every field comes back as it was written', async () => {
    const { workspaces } = subject().store;
    const inserted = await workspaces.admit(everyField, noLimit);
    expect(inserted).toEqual({ ...everyField, ...fresh });
    expect(await workspaces.get(everyField.id)).toEqual(inserted);
  });

  test('every nullable field may be null', async () => {
    const { workspaces } = subject().store;
    const workspace = newWorkspace();
    expect(await workspaces.admit(workspace, noLimit)).toEqual({ ...workspace, ...fresh });
  });

  test('large metadata comes back whole', async () => {
    const { workspaces } = subject().store;
    const metadata = Object.fromEntries(
      Array.from({ length: 2_000 }, (_, index) => [`key-${String(index)}`, 'é'.repeat(500)]),
    );
    const { id } = await put(subject().store, { metadata });
    expect((await workspaces.get(id))?.metadata).toEqual(metadata);
  });

  test('what was read can be changed by its reader without reaching another', async () => {
    const { workspaces } = subject().store;
    const { id, createdAt } = await put(subject().store);
    createdAt.setFullYear(1999);
    expect((await workspaces.get(id))?.createdAt.getUTCFullYear()).toBe(2026);
  });

  test('a workspace that is not there is undefined', async () => {
    expect(await subject().store.workspaces.get(randomUUID())).toBeUndefined();
  });

  test('the second of two inserts of one id fails and changes nothing', async () => {
    const { workspaces } = subject().store;
    const first = await put(subject().store, { image: 'first' });
    await expect(put(subject().store, { id: first.id, image: 'second' })).rejects.toThrow(
      'agent_workspaces_pkey',
    );
    expect(await workspaces.get(first.id)).toEqual(first);
  });

  test.each([
    ['a NUL character in a text', { owner: 'a\0b' }],
    ['a NUL character in metadata', { metadata: { a: 'a\0b' } }],
    ['half a surrogate pair in metadata', { metadata: { a: '\ud800' } }],
    ['an id that is no UUID', { id: 'no-uuid' }],
    ['a time that is none', { createdAt: new Date(Number.NaN) }],
    ['a time that RFC 3339 cannot write', { expiresAt: new Date(8.64e15) }],
  ] as const)('%s is an invalid value, and the store goes on', async (_, overrides) => {
    const { workspaces } = subject().store;
    await expect(workspaces.admit(newWorkspace(overrides), noLimit)).rejects.toMatchObject({
      code: 'invalid_value',
    });
    await put(subject().store);
  });

  test('a transition sets the status and the given fields, and raises the version', async () => {
    const { workspaces } = subject().store;
    const before = await put(subject().store, { expiresAt: new Date('2026-02-01Z') });
    const changes = {
      statusReason: 'the sandbox is gone',
      resourceLimits: { cpu: 1.5, memoryBytes: 1, diskBytes: 2 },
      metadata: { steps: { start: 12.5 } },
      lastUsedAt: new Date('2026-01-03T00:00:00.001Z'),
      expiresAt: new Date('2026-03-01T00:00:00.002Z'),
      readyAt: new Date('2026-01-02T00:00:00.003Z'),
      provider: 'gvisor',
      desiredState: 'stopped',
      providerWorkspaceId: 'another-name',
      snapshotId: 'snapshot-2',
      sealedEnv: 'bmV3',
    } as const;
    const after = await workspaces.transition(
      before.id,
      change(['creating', 'ready'], 'error', { changes }),
    );
    expect(after).toEqual({ ...before, ...changes, status: 'error', version: 2 });
    expect(await workspaces.get(before.id)).toEqual(after);
  });

  test('a transition leaves a field that is not given, and clears one that is null', async () => {
    const { workspaces } = subject().store;
    const { id } = await put(subject().store, { snapshotId: 'kept' });
    const expiresAt = new Date('2026-02-01Z');
    const changes = { statusReason: 'why', expiresAt };
    await workspaces.transition(id, change(['creating'], 'error', { changes }));
    const after = await workspaces.transition(
      id,
      change(['error'], 'ready', { changes: { snapshotId: null, readyAt: expiresAt } }),
    );
    expect(after).toMatchObject({ snapshotId: null, expiresAt, readyAt: expiresAt, version: 3 });
    const unready = change(['ready'], 'error', { changes: { readyAt: null } });
    expect(await workspaces.transition(id, unready)).toMatchObject({ readyAt: null, expiresAt });
  });

  test('the reason of one status is not the reason of the next', async () => {
    const { workspaces } = subject().store;
    const { id } = await put(subject().store);
    const changes = { statusReason: 'half a pair \ud800 and a NUL \0' };
    const failed = await workspaces.transition(id, change(['creating'], 'error', { changes }));
    expect(failed?.statusReason).toBe('half a pair \ufffd and a NUL \ufffd');
    const after = await workspaces.transition(id, change(['error'], 'resuming'));
    expect(after?.statusReason).toBeNull();
  });

  test('a transition from another status changes nothing', async () => {
    const { workspaces } = subject().store;
    const before = await put(subject().store, { status: 'ready' });
    const others = workspaceStatuses.filter((status) => status !== 'ready');
    expect(await workspaces.transition(before.id, change(others, 'error'))).toBeUndefined();
    expect(await workspaces.transition(before.id, change([], 'error'))).toBeUndefined();
    expect(await workspaces.transition(randomUUID(), change(['ready'], 'error'))).toBeUndefined();
    expect(await workspaces.get(before.id)).toEqual(before);
  });

  test('of 50 transitions at once exactly one wins', async () => {
    const { workspaces } = subject().store;
    const { id } = await put(subject().store, { status: 'ready' });
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        workspaces.transition(
          id,
          change(['ready'], 'stopping', { changes: { statusReason: String(index) } }),
        ),
      ),
    );
    const winners = results.filter((result) => result !== undefined);
    expect(winners).toHaveLength(1);
    expect(await workspaces.get(id)).toEqual(winners[0]);
    expect(winners[0]).toMatchObject({ status: 'stopping', version: 3 });
  });

  test('remove takes the row away once, and only from destroying', async () => {
    const { workspaces } = subject().store;
    const { id } = await put(subject().store, { status: 'ready' });
    const other = await put(subject().store, { status: 'destroying' });
    expect(await workspaces.remove(id, 'somebody')).toBe(false);
    await workspaces.transition(id, change(['ready'], 'stopping'));
    expect(await workspaces.remove(id, 'somebody')).toBe(false);
    await workspaces.transition(id, change(['stopping'], 'destroying'));
    const removals = await Promise.all([
      workspaces.remove(id, 'somebody'),
      workspaces.remove(id, 'somebody'),
    ]);
    expect(removals.toSorted()).toEqual([false, true]);
    expect(await workspaces.get(id)).toBeUndefined();
    expect(await workspaces.get(other.id)).toEqual(other);
  });

  test('all gives every row, oldest first', async () => {
    const { store } = subject();
    const younger = await put(store, { status: 'ready', createdAt: new Date('2026-02-01Z') });
    const older = await put(store, mcpServer());
    expect(await store.workspaces.all()).toEqual([older, younger]);
  });

  test('countByProvider counts every state but destroying, and no member of a pool', async () => {
    const { workspaces } = subject().store;
    expect(await workspaces.countByProvider()).toEqual(new Map());
    for (const status of workspaceStatuses) {
      await put(subject().store, { provider: 'gvisor', status });
    }
    await put(subject().store, { provider: 'memory' });
    await put(subject().store, { provider: 'memory', pool: 'default', status: 'error' });
    await put(subject().store, { provider: 'e2b', status: 'destroying' });
    expect(await workspaces.countByProvider()).toEqual(
      new Map([
        ['gvisor', workspaceStatuses.length - 2],
        ['memory', 1],
      ]),
    );
  });
}
