import { beforeEach, expect, test } from 'vitest';
import { isChanging, workspaceStatuses } from '../../src/domain/workspace.ts';
import type { Row } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { migration, readMigrations } from '../../src/store/migrations.ts';
import { recordLog } from '../support/log.ts';
import { mcpServer } from './fixtures/mcp-servers.ts';
import { put } from './fixtures/workspaces.ts';
import type { Subject } from './suite.ts';

const one = migration(1, 'one', 'create table kb.one (a integer); insert into kb.one values (1)');
const two = migration(2, 'two', 'alter table kb.one add column b text');
const broken = migration(2, 'broken', 'create table kb.half (a integer); select 1 / 0');

export function migrationTests(subject: () => Subject): void {
  const recorded = (): Promise<readonly Row[]> =>
    subject().database.query(
      'select version, name, checksum from kb.schema_migrations order by version',
    );
  const asRecorded = ({ version, name, checksum }: typeof one): Row => ({
    version,
    name,
    checksum,
  });
  const run = async (migrations: readonly (typeof one)[]): Promise<readonly string[]> => {
    const { log, entries } = recordLog();
    await migrate(subject().database, migrations, log);
    return entries().map((entry) => String(entry['migration']));
  };

  beforeEach(async () => {
    await subject().database.query('drop schema kb cascade');
    return async () => {
      // What the tests of other parts expect.
      await subject().database.query('drop schema if exists kb cascade');
      await run(await readMigrations());
    };
  });

  test('each migration runs once, in order, and is recorded', async () => {
    expect(await run([one])).toEqual(['one']);
    expect(await run([one, two])).toEqual(['two']);
    expect(await run([one, two])).toEqual([]);
    expect(await recorded()).toEqual([asRecorded(one), asRecorded(two)]);
    expect(await subject().database.query('select * from kb.one')).toEqual([{ a: 1, b: null }]);
  });

  test('two at once on an empty database apply each migration once', async () => {
    const logs = await Promise.all([run([one, two]), run([one, two]), run([one, two])]);
    expect(logs.flat().toSorted()).toEqual(['one', 'two']);
    expect(await recorded()).toHaveLength(2);
  });

  test('a migration that fails leaves nothing of itself', async () => {
    await expect(run([one, broken])).rejects.toMatchObject({ code: 'invalid_value' });
    expect(await recorded()).toEqual([asRecorded(one)]);
    expect(await subject().database.query(`select to_regclass('kb.half') as half`)).toEqual([
      { half: null },
    ]);
    expect(await run([one, two])).toEqual(['two']);
  });

  test('a database newer than the code is refused untouched', async () => {
    await run([one, two]);
    await expect(run([one])).rejects.toMatchObject({
      code: 'store_unavailable',
      message: 'the database has schema version 2 (two), newer than the 1 that this server knows',
      hint: expect.stringContaining('newer server') as unknown,
    });
    expect(await recorded()).toHaveLength(2);
  });

  test('a database of another build is refused', async () => {
    await run([one]);
    const changed = migration(1, 'one', 'create table kb.one (a bigint)');
    await expect(run([changed, two])).rejects.toMatchObject({
      code: 'store_unavailable',
      message: "the database's migration 1 (one) is not the one that this server knows",
    });
    expect(await recorded()).toEqual([asRecorded(one)]);
  });

  test('the migrations of this server apply twice without a change', async () => {
    const migrations = await readMigrations();
    expect(await run(migrations)).toEqual(migrations.map(({ name }) => name));
    expect(await run(migrations)).toEqual([]);
  });

  test('003: the workspaces of a 002 database are kept, with what can be told of them', async () => {
    const { database } = subject();
    const migrations = await readMigrations();
    await run(migrations.slice(0, 2));
    // Of the others 004 tells.
    const statuses = workspaceStatuses.filter((status) => status !== 'warm');
    for (const status of statuses) {
      for (const expiresIn of ['30 days', '1.001 seconds', '9000 years', null]) {
        await database.query(
          `insert into kb.agent_workspaces (
             id, owner, container_type, provider, provider_workspace_id, image, deployment_mode,
             lifecycle, status, desired_state, network, resource_limits, metadata, created_at,
             last_used_at, expires_at
           ) values (
             gen_random_uuid(), 'owner-1', 'agent_workspace', 'gvisor', 'x', 'base', 'self-hosted',
             'ephemeral', $1, 'running', 'nat', '{"cpu": 1, "memory_bytes": 2, "disk_bytes": 3}',
             '{}', '2026-01-02T03:04:05.678Z', now(),
             '2026-01-02T03:04:05.678Z'::timestamptz + $2::interval
           )`,
          [status, expiresIn],
        );
      }
    }
    expect(await run(migrations.slice(0, 3))).toEqual(['lifecycle']);
    await run(migrations);

    const { workspaces } = subject().store;
    const rows = await workspaces.all();
    expect(rows).toHaveLength(statuses.length * 4);
    for (const row of rows) {
      expect(row).toMatchObject({ sealedEnv: null, announced: false });
      expect(row.readyAt).toEqual(row.status === 'creating' ? null : row.createdAt);
    }
    const ttls = (status: string): Set<number | null> =>
      new Set(rows.filter((row) => row.status === status).map(({ ttlSeconds }) => ttlSeconds));
    for (const status of statuses) {
      expect(ttls(status)).toEqual(new Set([2_592_000, 60, 2_147_483_647, null]));
    }
    // Whoever worked on them is of an older version, and gone.
    const taken = await workspaces.takeOver();
    expect(new Set(taken)).toEqual(new Set(rows.filter(({ status }) => isChanging(status))));
  });

  test('004: rows and events of a 003 database are kept; what is warm without a pool is let go', async () => {
    const { database, store } = subject();
    const migrations = await readMigrations();
    await run(migrations.slice(0, 3));
    for (const status of workspaceStatuses) {
      await database.query(
        `insert into kb.agent_workspaces (
           id, owner, container_type, provider, provider_workspace_id, image, deployment_mode,
           lifecycle, status, status_reason, desired_state, network, resource_limits, metadata,
           created_at, last_used_at, version
         ) values (
           gen_random_uuid(), 'owner-1', 'agent_workspace', 'gvisor', 'x', 'base', 'self-hosted',
           'ephemeral', $1, 'why', 'running', 'nat',
           '{"cpu": 1, "memory_bytes": 2, "disk_bytes": 3}', '{}', now(), now(), 7
         )`,
        [status],
      );
    }
    await database.query(
      `insert into kb.workspace_events (at, workspace_id, owner, actor, type, detail)
       select now(), id, owner, 'x', type, '{}'
         from kb.agent_workspaces, unnest(array['workspace.creating', 'tool.bash']) type`,
    );
    const read = (table: string, order: string): Promise<readonly Row[]> =>
      database.query(`select * from kb.${table} order by ${order}`);
    const rows = await read('agent_workspaces', 'id');
    const events = await read('workspace_events', 'id');
    expect(await run(migrations.slice(0, 4))).toEqual(['warm-pools']);

    const gone = { status: 'destroying', status_reason: null, version: 8, operator: null };
    expect(await read('agent_workspaces', 'id')).toEqual(
      rows.map((row) => ({
        ...row,
        ...(row['status'] === 'warm' && gone),
        version: row['status'] === 'warm' ? version(8, row) : row['version'],
        pool: null,
        pool_key: null,
        claimed_as: null,
      })),
    );
    expect(await read('workspace_events', 'id')).toEqual(events);
    await run(migrations);
    const after = (await store.workspaces.all()).find(({ version }) => version === 8);
    expect(await store.workspaces.takeOver()).toContainEqual(after);
  });

  test('005: rows and events of a 004 database are kept; none of them is an MCP server', async () => {
    const { database, store } = subject();
    const migrations = await readMigrations();
    await run(migrations.slice(0, 4));
    const types = [
      ['agent_workspace', null],
      ['agent_workspace', '{"name": "a"}'],
      ['mcp_server', null],
      ['mcp_server', '{}'],
      ['mcp_server', '{"name": "a"}'],
      ['mcp_server', '{"name": "a"}'],
    ] as const;
    for (const [containerType, config] of types) {
      await database.query(
        `insert into kb.agent_workspaces (
           id, owner, container_type, provider, provider_workspace_id, image, deployment_mode,
           lifecycle, status, desired_state, network, resource_limits, metadata, mcp_config,
           created_at, last_used_at
         ) values (
           gen_random_uuid(), 'owner-1', $1, 'gvisor', 'x', 'base', 'self-hosted', 'persistent',
           'ready', 'running', 'nat', '{"cpu": 1, "memory_bytes": 2, "disk_bytes": 3}', '{}', $2,
           now(), now()
         )`,
        [containerType, config],
      );
    }
    await database.query(
      `insert into kb.workspace_events (at, workspace_id, owner, actor, type, detail)
       select now(), case when type like 'workspace%' then gen_random_uuid() end, 'o', 'x', type, '{}'
         from unnest(array['workspace.creating', 'provider.healthy', 'pool.resized']) type`,
    );
    const events = await store.events.list({ limit: 10 });
    expect(await run(migrations.slice(0, 5))).toEqual(['mcp-servers']);
    await run(migrations);
    const rows = await store.workspaces.all();
    expect(rows).toHaveLength(types.length);
    for (const row of rows) {
      expect(row).toMatchObject({ containerType: 'agent_workspace', mcpConfig: null });
    }
    expect(await store.mcp.servers()).toEqual([]);
    expect(await store.events.list({ limit: 10 })).toEqual(events);
  });

  test('007: an MCP server of a 006 database that has no host is for whoever comes', async () => {
    const { database, store } = subject();
    const migrations = await readMigrations();
    await run(migrations);
    const hosted = await put(store, mcpServer({ name: 'hosted' }));
    const unhosted = await put(store, mcpServer({ name: 'unhosted' }));
    await database.query('delete from kb.mcp_state where workspace_id = $1', [unhosted.id]);
    await database.query('delete from kb.schema_migrations where version >= 7');
    expect(await run(migrations)).toEqual(['mcp-hosts']);
    expect(
      await database.query('select workspace_id, host from kb.mcp_state order by host nulls last'),
    ).toEqual([
      { workspace_id: hosted.id, host: store.peers.number },
      { workspace_id: unhosted.id, host: null },
    ]);
  });
}

/** As the driver at hand gives a number of this column. */
function version(number: number, row: Row): unknown {
  return typeof row['version'] === 'string' ? String(number) : number;
}
