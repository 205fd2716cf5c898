import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FakeProvider, unhealthy } from '../unit/engine/support/fake-provider.ts';
import { e2b, firecracker, gvisor } from '../unit/engine/support/watched-providers.ts';
import { verifies } from '../support/verifies.ts';
import { openTestStore, settled, startServer } from './support/server.ts';
import type { TestServer, TestStore } from './support/server.ts';

const workspaces = '/api/v1/agent/workspaces';
const selection = `${workspaces}/providers/selection`;

interface ProviderList {
  readonly providers: readonly Readonly<Record<string, unknown>>[];
}

let store: TestStore;
let server: TestServer;
beforeAll(async () => {
  store = await openTestStore();
  server = await startServer(store);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

verifies(
  ['orchestration/health-status-api', 'orchestration/provider-capabilities-reporting'],
  'providers are shown with health, time of the check, use, free resources and capabilities',
  async () => {
    await server.newWorkspace();
    const { providers } = await server.admin.json<ProviderList>(
      200,
      'GET',
      `${workspaces}/providers`,
    );
    expect(providers).toEqual([
      {
        name: 'memory',
        status: 'healthy',
        reason: null,
        remedy: null,
        cooling_down: null,
        last_check: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as string,
        active_workspaces: expect.any(Number) as number,
        available_resources: {
          cpu: expect.any(Number) as number,
          memory: expect.any(String) as string,
        },
        capabilities: {
          isolation: 'none',
          persistence: true,
          snapshots: false,
          warm_pool: true,
          processes: true,
          terminals: false,
          tools: false,
          requires: [],
          startup_ms: expect.any(Number) as number,
        },
        details: expect.any(Object) as object,
      },
    ]);
    expect(providers[0]?.['active_workspaces']).toBeGreaterThan(0);
  },
);

describe('of a server with several providers', () => {
  const notSet = { name: 'e2b', reason: 'E2B_API_KEY is not set', remedy: 'Set it.' };
  const [vm, other] = [firecracker(), gvisor()];
  let several: TestServer;
  beforeAll(async () => {
    several = await startServer(store, {
      providers: [other, vm, new FakeProvider('docker', 'container')],
      engine: { unconfigured: [notSet], allowUnsandboxed: false },
    });
  });
  afterAll(async () => {
    await several[Symbol.asyncDispose]();
  });

  test('those that are not configured are listed as absent, with the reason', async () => {
    const { providers } = await several.admin.json<ProviderList>(
      200,
      'GET',
      `${workspaces}/providers`,
    );
    expect(providers.map(({ name }) => name)).toEqual(['gvisor', 'firecracker', 'docker', 'e2b']);
    expect(providers.at(-1)).toMatchObject({
      status: 'absent',
      reason: 'E2B_API_KEY is not set',
      remedy: 'Set it.',
      last_check: null,
      capabilities: null,
    });
  });

  test('and asked for by name they are unavailable, where one that nobody knows is invalid', async () => {
    const known = await several.admin.error(503, 'POST', workspaces, { json: { provider: 'e2b' } });
    expect(known).toMatchObject({ code: 'provider_unavailable', hint: 'Set it.' });
    expect(known.message).toContain('E2B_API_KEY is not set');
    const unknown = await several.admin.error(422, 'POST', workspaces, {
      json: { provider: 'nonsense' },
    });
    expect(unknown.code).toBe('provider_unknown');
  });

  test('any token may see what a create would try, in which order, and why', async () => {
    const agent = await several.newClient('agent');
    expect(await agent.json(200, 'GET', selection)).toEqual({
      provider: 'auto',
      container_type: 'agent_workspace',
      deployment_mode: 'self-hosted',
      order: [
        { name: 'firecracker', why: expect.stringContaining('strongest') as string },
        { name: 'gvisor', why: expect.stringContaining('sandbox') as string },
      ],
      left_out: [
        { name: 'docker', reason: expect.stringContaining('not a sandbox') as string },
        { name: 'e2b', reason: 'E2B_API_KEY is not set' },
      ],
    });
    expect(await agent.json(200, 'GET', `${selection}?container_type=mcp_server`)).toMatchObject({
      order: [{ name: 'gvisor' }, { name: 'firecracker' }],
    });
    const named = await agent.json(
      200,
      'GET',
      `${selection}?provider=gvisor&deployment_mode=managed`,
    );
    expect(named).toMatchObject({
      provider: 'gvisor',
      deployment_mode: 'managed',
      order: [{ name: 'gvisor', why: expect.stringContaining('no other is tried') as string }],
    });
  });

  test.each([
    ['provider=nonsense', 'provider_unknown'],
    ['container_type=car', 'invalid_value'],
    ['deployment_mode=', 'invalid_value'],
    ['mode=managed', 'unknown_field'],
  ])('a question of %s is refused', async (query, code) => {
    const answer = await several.admin.call('GET', `${selection}?${query}`);
    const { error } = JSON.parse(answer.text) as { error: { code: string } };
    expect([answer.status >= 400, error.code]).toEqual([true, code]);
  });

  test('one that hangs holds up neither the list nor the choice', async () => {
    await several.admin.json(200, 'GET', `${workspaces}/providers`);
    const asked = Promise.withResolvers<void>();
    vm.health.mockImplementation(() => {
      asked.resolve();
      return new Promise(() => undefined);
    });
    const caller = new AbortController();
    const { signal } = caller;
    const explicit = several.admin.fetch('GET', `${selection}?provider=firecracker`, { signal });
    const unanswered = expect(explicit).rejects.toThrow('enough');
    await asked.promise;
    const { providers } = await several.admin.json<ProviderList>(
      200,
      'GET',
      `${workspaces}/providers`,
    );
    expect(providers[1]).toMatchObject({ name: 'firecracker', status: 'healthy' });
    expect(await several.admin.json(200, 'GET', selection)).toMatchObject({
      order: [{ name: 'firecracker' }, { name: 'gvisor' }],
    });
    caller.abort(new Error('enough'));
    await unanswered;
  });
});

test('the deployment mode of the request decides, else that of the server', async () => {
  const broken = gvisor();
  broken.health.mockResolvedValue(unhealthy('no engine'));
  await using managed = await startServer(store, {
    providers: [broken, firecracker(), e2b()],
    engine: { defaults: { ...settled.defaults, deploymentMode: 'managed' } },
  });
  const created = await managed.admin.json(201, 'POST', workspaces);
  expect(created).toMatchObject({ provider: 'e2b', deployment_mode: 'managed' });
  const asked = { json: { deployment_mode: 'self-hosted' } };
  const other = await managed.admin.json(201, 'POST', workspaces, asked);
  expect(other).toMatchObject({ provider: 'firecracker', deployment_mode: 'self-hosted' });
});

test('a change of health is an event that admins see', async () => {
  const provider = gvisor();
  await using watched = await startServer(store, { providers: [provider] });
  const list = `${workspaces}/providers`;
  await watched.admin.json(200, 'GET', list);
  provider.health.mockResolvedValue(unhealthy('no engine'));
  await watched.admin.error(503, 'POST', workspaces, { json: { provider: 'gvisor' } });
  expect(await watched.admin.json(200, 'GET', list)).toMatchObject({
    providers: [{ status: 'unhealthy', reason: 'no engine' }],
  });
  const admin = { tokenId: 'test', role: 'admin' } as const;
  const types = ['provider.unhealthy'] as const;
  const following = new AbortController();
  for await (const event of watched.engine.events.follow(
    admin,
    { after: 0, types },
    following.signal,
  )) {
    expect(event.type).toBe('provider.unhealthy');
    break;
  }
  const events = '/api/v1/events?type=provider.unhealthy';
  const seen = await watched.admin.json(200, 'GET', events);
  expect(seen).toMatchObject({
    items: [
      {
        type: 'provider.unhealthy',
        actor: 'health-monitor',
        workspace_id: null,
        detail: { provider: 'gvisor', from: 'healthy', reason: 'no engine', remedy: 'Start it.' },
      },
    ],
  });
  const agent = await watched.newClient('agent');
  expect(await agent.json(200, 'GET', events)).toMatchObject({ items: [] });
});
