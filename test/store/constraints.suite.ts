import { expect, test } from 'vitest';
import { encodeMcpConfig } from '../../src/store/mcp/config.ts';
import { mcpConfig, mcpServer } from './fixtures/mcp-servers.ts';
import { newWorkspace, put } from './fixtures/workspaces.ts';
import type { Subject } from './suite.ts';

const limits = { cpu: 1, memory_bytes: 2, disk_bytes: 3 };
const member = { pool: 'default', pool_key: 'key-1' };
const mcpColumns = { container_type: 'mcp_server', mcp_config: { name: 'memory' } };
const persistentMcp = { ...mcpColumns, lifecycle: 'persistent' };

const refusedWorkspaces: readonly (readonly [string, Record<string, unknown>])[] = [
  ['container_type_known', { container_type: 'vm' }],
  ['provider_name', { provider: '' }],
  ['provider_name', { provider: 'GVisor' }],
  ['provider_name', { provider: 'a b' }],
  ['deployment_mode_known', { deployment_mode: 'self_hosted' }],
  ['lifecycle_known', { lifecycle: 'forever' }],
  ['status_known', { status: 'READY' }],
  ['status_known', { status: '' }],
  ['desired_state_known', { desired_state: 'ready' }],
  ['network_known', { network: 'host' }],
  ['mcp_config_shape', { ...mcpColumns, mcp_config: [1] }],
  ['mcp_config_shape', { ...mcpColumns, mcp_config: {} }],
  ['mcp_config_shape', { ...mcpColumns, mcp_config: { name: null } }],
  ['mcp_server_with_config', { container_type: 'mcp_server' }],
  ['mcp_server_with_config', { mcp_config: { name: 'memory' } }],
  ['metadata_shape', { metadata: 'text' }],
  ['metadata_shape', { metadata: [] }],
  ['times_finite', { created_at: '-infinity' }],
  ['times_finite', { last_used_at: 'infinity' }],
  ['times_finite', { expires_at: 'infinity' }],
  ['ready_at_finite', { ready_at: 'infinity' }],
  ['ttl_seconds_positive', { ttl_seconds: 0 }],
  ['resting_without_operator', { status: 'ready', operator: 1 }],
  ['resting_without_operator', { status: 'error', operator: 1 }],
  ['version_positive', { version: 0 }],
  ['pool_with_key', { pool: 'default' }],
  ['pool_with_key', { pool_key: 'key-1' }],
  ['warm_in_pool', { status: 'warm' }],
  ['member_of_pool', { ...member, status: 'ready' }],
  ['member_of_pool', { ...member, status: 'stopping' }],
  ['member_of_pool', { ...member, status: 'stopped' }],
  ['member_of_pool', { ...member, status: 'resuming' }],
  ['member_of_pool', { ...member, ...mcpColumns }],
  ['persistent_mcp_server_never_expires', { ...persistentMcp, expires_at: '2026-01-01T00:00:00Z' }],
  ['resource_limits_shape', { resource_limits: [] }],
  ['resource_limits_shape', { resource_limits: 1 }],
  ['resource_limits_shape', { resource_limits: {} }],
  ['resource_limits_shape', { resource_limits: { cpu: 1, memory_bytes: 2 } }],
  ['resource_limits_shape', { resource_limits: { ...limits, more: 1 } }],
  ['resource_limits_shape', { resource_limits: { ...limits, cpu: '1' } }],
  ['resource_limits_shape', { resource_limits: { ...limits, cpu: null } }],
  ['resource_limits_shape', { resource_limits: { ...limits, cpu: 0 } }],
  ['resource_limits_shape', { resource_limits: { ...limits, cpu: [1] } }],
  ['resource_limits_shape', { resource_limits: { ...limits, memory_bytes: -1 } }],
  ['resource_limits_shape', { resource_limits: { ...limits, disk_bytes: 1.5 } }],
];

const refusedEvents: readonly (readonly [string, Record<string, unknown>])[] = [
  ['type_shape', { type: 'ready' }],
  ['type_shape', { type: 'workspace.' }],
  ['type_shape', { type: 'tool.Bash' }],
  ['type_shape', { type: 'pools.resized', workspace_id: null }],
  ['workspace_where_due', { type: 'workspace.ready', workspace_id: null }],
  ['workspace_where_due', { type: 'tool.bash', workspace_id: null }],
  ['workspace_where_due', { type: 'mcp.crashed', workspace_id: null }],
  ['workspace_where_due', { type: 'provider.healthy' }],
  ['workspace_where_due', { type: 'pool.resized' }],
  ['detail_shape', { detail: [] }],
  ['at_finite', { at: 'infinity' }],
];

const goodState = { restarts: 0, crashes: [], back_offs: 0, last_exit: null, run: null };
const refusedStates: readonly (readonly [string, unknown])[] = [
  ['state_shape', []],
  ['state_shape', {}],
  ['state_shape', { ...goodState, more: 1 }],
  ['state_shape', { ...goodState, restarts: -1 }],
  ['state_shape', { ...goodState, restarts: '1' }],
  ['state_shape', { ...goodState, back_offs: 0.5 }],
  ['state_shape', { ...goodState, crashes: {} }],
  ['state_shape', { ...goodState, last_exit: 1 }],
  ['state_shape', { ...goodState, run: [] }],
];

const goodKept = {
  id: '0190b6a0-1111-7222-8333-944444444444',
  ...{ owner: 'owner-1', name: 'memory', provider: 'gvisor', sandbox_name: 'x' },
  ...{ paths: ['/data'], kept_at: '2026-01-01T00:00:00Z' },
};
const refusedKept: readonly (readonly [string, Record<string, unknown>])[] = [
  ['provider_name', { provider: 'GVisor' }],
  ['paths_shape', { paths: {} }],
  ['paths_shape', { paths: [] }],
  ['paths_shape', { paths: ['/data', null] }],
  ['kept_at_finite', { kept_at: 'infinity' }],
];

const configured = {
  size: 5,
  provider: 'auto',
  image: 'base',
  network: 'nat',
  resource_limits: limits,
};
const refusedPools: readonly (readonly [string, Record<string, unknown>])[] = [
  ['name_shape', { name: '' }],
  ['name_shape', { name: 'Default' }],
  ['name_shape', { name: '1st' }],
  ['name_shape', { name: 'a'.repeat(33) }],
  ['size_range', { size: -1 }],
  ['size_range', { size: 201 }],
  ['configured_shape', { configured: [] }],
  ['configured_shape', { configured: {} }],
  ['configured_shape', { configured: { ...configured, more: 1 } }],
  ['configured_shape', { configured: { ...configured, size: '5' } }],
  ['configured_shape', { configured: { ...configured, size: 1.5 } }],
  ['configured_shape', { configured: { ...configured, size: 201 } }],
  ['configured_shape', { configured: { ...configured, image: null } }],
  ['configured_shape', { configured: { ...configured, resource_limits: [] } }],
];

const refusedTokens: readonly (readonly [string, Record<string, unknown>])[] = [
  ['role_known', { role: 'root' }],
  ['token_hash_shape', { token_hash: 'A'.repeat(64) }],
  ['token_hash_shape', { token_hash: 'a'.repeat(63) }],
  ['token_hash_unique', { token_hash: 'a'.repeat(64) }],
  ['times_finite', { revoked_at: 'infinity' }],
];

/** Past the store: the database itself keeps out what the code should never write. */
export function constraintTests(subject: () => Subject): void {
  /** A copy of a good row with some columns replaced, by raw SQL. */
  const insertCopy = async (columns: Record<string, unknown>): Promise<void> => {
    const { database, store } = subject();
    const seed = await put(store);
    await database.query(
      `insert into kb.agent_workspaces
       select copy.*
         from kb.agent_workspaces seed,
              jsonb_populate_record(seed, jsonb_build_object(
                'id', gen_random_uuid(), 'operator', null
              ) || $2) copy
        where seed.id = $1`,
      [seed.id, JSON.stringify(columns)],
    );
  };

  test('a good copy is let in', async () => {
    await insertCopy({ resource_limits: { ...limits, cpu: 0.25 } });
    await insertCopy({
      ...persistentMcp,
      expires_at: null,
      mcp_config: JSON.parse(encodeMcpConfig(mcpConfig()) ?? '') as unknown,
    });
    await insertCopy({ lifecycle: 'persistent', expires_at: '2026-01-01T00:00:00Z' });
    for (const status of ['creating', 'warm', 'destroying', 'error']) {
      await insertCopy({ ...member, status });
    }
    expect(await subject().store.workspaces.all()).toHaveLength(14);
  });

  test.each(refusedWorkspaces)('%s refuses %j', async (constraint, columns) => {
    await expect(insertCopy(columns)).rejects.toMatchObject({ code: '23514', constraint });
  });

  test.each(['owner', 'container_type', 'provider', 'status', 'resource_limits', 'metadata'])(
    '%s may not be null',
    async (column) => {
      await expect(insertCopy({ [column]: null })).rejects.toMatchObject({ code: '23502', column });
    },
  );

  test.each(refusedEvents)('workspace_events: %s refuses %j', async (constraint, columns) => {
    const { database, store } = subject();
    await put(store);
    const insert = database.query(
      `insert into kb.workspace_events (at, workspace_id, owner, actor, type, detail)
       select copy.at, copy.workspace_id, copy.owner, copy.actor, copy.type, copy.detail
         from kb.workspace_events seed, jsonb_populate_record(seed, $1) copy`,
      [JSON.stringify(columns)],
    );
    await expect(insert).rejects.toMatchObject({ code: '23514', constraint });
  });

  test.each(refusedStates)('mcp_state: %s refuses %j', async (constraint, state) => {
    const { database, store } = subject();
    await put(store, mcpServer());
    const write = (value: unknown): Promise<unknown> =>
      database.query('update kb.mcp_state set state = $1', [JSON.stringify(value)]);
    await expect(write(state)).rejects.toMatchObject({ code: '23514', constraint });
    await write(goodState);
  });

  test.each(refusedKept)('kept_volumes: %s refuses %j', async (constraint, columns) => {
    const insert = (values: unknown): Promise<unknown> =>
      subject().database.query(
        `insert into kb.kept_volumes
         select kept.* from jsonb_populate_record(null::kb.kept_volumes, $1) kept`,
        [JSON.stringify(values)],
      );
    const refused = insert({ ...goodKept, ...columns });
    await expect(refused).rejects.toMatchObject({ code: '23514', constraint });
    await insert(goodKept);
  });

  test.each(refusedPools)('warm_pools: %s refuses %j', async (constraint, columns) => {
    const insert = subject().database.query(
      `insert into kb.warm_pools
       select pool.* from jsonb_populate_record(null::kb.warm_pools, $1) pool`,
      [JSON.stringify({ name: 'default', configured, size: 5, release: '1.0.0', ...columns })],
    );
    await expect(insert).rejects.toMatchObject({ code: '23514', constraint });
  });

  test.each(refusedTokens)('api_tokens: %s refuses %j', async (constraint, columns) => {
    const { database, store } = subject();
    const good = {
      name: 'n',
      role: 'admin',
      hash: 'a'.repeat(64),
      createdAt: new Date(0),
    } as const;
    const { id } = await store.tokens.insert({ ...good, id: newWorkspace().id });
    const insert = database.query(
      `insert into kb.api_tokens
       select copy.*
         from kb.api_tokens seed,
              jsonb_populate_record(seed, jsonb_build_object(
                'id', gen_random_uuid(), 'token_hash', repeat('b', 64)
              ) || $2) copy
        where seed.id = $1`,
      [id, JSON.stringify(columns)],
    );
    await expect(insert).rejects.toMatchObject({ constraint });
  });

  test('a row that holds what no code wrote is named, not passed on', async () => {
    const { database, store } = subject();
    const { id } = await put(store);
    await database.query('alter table kb.agent_workspaces drop constraint network_known');
    try {
      await database.query(`update kb.agent_workspaces set network = 'host' where id = $1`, [id]);
      await expect(store.workspaces.get(id)).rejects.toMatchObject({
        code: 'internal',
        details: { column: 'network', value: 'host' },
      });
    } finally {
      await database.query('truncate kb.agent_workspaces cascade');
      await database.query(
        `alter table kb.agent_workspaces
           add constraint network_known check (network in ('nat', 'isolated'))`,
      );
    }
  });
}
