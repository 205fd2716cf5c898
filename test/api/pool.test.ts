import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EmergentError } from '../../src/domain/errors.ts';
import type { PoolDefinition, PoolReport } from '../../src/domain/warm-pool.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { eventually } from '../support/eventually.ts';
import { expectRefused, invalid, unknown } from './support/refused.ts';
import { openTestStore, startServer } from './support/server.ts';
import type { TestServer, TestServerOptions, TestStore } from './support/server.ts';

const workspaces = '/api/v1/agent/workspaces';
const url = `${workspaces}/pool`;
const GiB = 2 ** 30;

const shape = {
  image: 'base',
  limits: { cpu: 2, memoryBytes: 4 * GiB, diskBytes: 10 * GiB },
  network: 'nat',
} as const;
const definitions: readonly PoolDefinition[] = [
  { ...shape, name: 'default', size: 1, provider: 'auto' },
  { ...shape, name: 'other', size: 0, provider: 'memory', network: 'isolated' },
];

interface Report {
  readonly pools: readonly {
    readonly name: string;
    readonly size: number;
    readonly ready: number;
    readonly state: string;
  }[];
  readonly hits: Readonly<Record<string, number>>;
  readonly misses: Readonly<Record<string, number>>;
}

let store: TestStore;
let server: TestServer;
beforeAll(async () => {
  store = await openTestStore();
  server = await startServer(store, { warmPools: definitions });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

const report = (): Promise<Report> => server.admin.json(200, 'GET', url);

async function whenReady(name: string, count: number): Promise<void> {
  await eventually(async () => {
    const pool = (await report()).pools.find((one) => one.name === name);
    expect(pool).toMatchObject({ ready: count, creating: 0 });
  });
}

test('every token may look', async () => {
  await whenReady('default', 1);
  const agent = await server.newClient('agent');
  const limits = { cpu: 2, memory: '4G', disk: '10G' };
  const common = { image: 'base', resource_limits: limits, creating: 0 };
  expect(await agent.json(200, 'GET', url)).toMatchObject({
    pools: [
      {
        ...{ ...common, name: 'default', size: 1, ready: 1 },
        ...{ network: 'nat', provider: 'memory', state: 'ready', reason: null },
      },
      { ...common, name: 'other', size: 0, ready: 0, network: 'isolated', state: 'off' },
    ],
    misses: { empty: 0, no_pool: 0, provider: 0, dead: 0 },
  });
  await server.admin.as(undefined).error(401, 'GET', url);
});

test('an admin resizes, the plain pool unless another is named; a create that fits is a hit', async () => {
  const resized = await server.admin.json<Report>(200, 'PATCH', url, { json: { size: 2 } });
  expect(resized.pools).toMatchObject([
    { name: 'default', size: 2 },
    { name: 'other', size: 0 },
  ]);
  await whenReady('default', 2);
  await server.admin.json(200, 'PATCH', url, { json: { name: 'other', size: 1 } });
  await whenReady('other', 1);

  const before = await report();
  await server.newWorkspace();
  await server.admin.json(201, 'POST', workspaces, { json: { network: 'isolated' } });
  await server.admin.json(201, 'POST', workspaces, { json: { image: 'debian:12' } });
  const after = await report();
  expect(after.hits).toEqual({
    default: (before.hits['default'] ?? 0) + 1,
    other: (before.hits['other'] ?? 0) + 1,
  });
  expect(after.misses['no_pool']).toBe((before.misses['no_pool'] ?? 0) + 1);
  const { text } = await server.admin.call('GET', '/metrics');
  for (const line of [
    'emergent_warm_pool_size{pool="default"} 2',
    'emergent_warm_pool_hits_total{pool="other"} 1',
    'emergent_warm_pool_misses_total{reason="no_pool"} 1',
    'emergent_create_attempts_total{provider="memory",result="created"} 1',
    'emergent_create_attempts_total{provider="memory",result="adopted"} 2',
  ]) {
    expect(text).toContain(line);
  }
});

describe('a resize is refused', () => {
  test('to whoever is no admin', async () => {
    const before = (await report()).pools.map(({ size }) => size);
    const agent = await server.newClient('agent');
    const error = await agent.error(403, 'PATCH', url, { json: { size: 7 } });
    expect(error.code).toBe('forbidden');
    expect((await report()).pools.map(({ size }) => size)).toEqual(before);
  });

  test.each<[readonly [number, string], string, unknown]>([
    [[404, 'pool_not_found'], 'nowhere', { name: 'nowhere', size: 1 }],
    [invalid, 'size: expected number', {}],
    [invalid, 'size: expected number', { size: '3' }],
    [invalid, 'size: expected number', { size: null }],
    [invalid, 'size: expected int', { size: 1.5 }],
    [invalid, 'size: Too small', { size: -1 }],
    [invalid, 'size: Too big', { size: 201 }],
    [invalid, 'size: ', { size: 1e300 }],
    [invalid, 'name: is not the name of a pool', { name: 'Default', size: 1 }],
    [invalid, 'name: is not the name of a pool', { name: '../x', size: 1 }],
    [invalid, 'name: must not be empty', { name: '', size: 1 }],
    [invalid, 'name: expected string', { name: 5, size: 1 }],
    [invalid, 'body: expected object', []],
    [unknown, 'provider: there is no such field', { size: 1, provider: 'memory' }],
  ])('%j: %s', async (expected, says, json) => {
    const before = (await report()).pools.map(({ size }) => size);
    await expectRefused(server, expected, says, ['PATCH', url], { json });
    expect((await report()).pools.map(({ size }) => size)).toEqual(before);
  });

  test('in other shapes', async () => {
    const headers = { 'content-type': 'application/json' };
    const at = ['PATCH', url] as const;
    await expectRefused(server, [400, 'malformed_json'], 'JSON', at, { body: '{', headers });
    await expectRefused(server, [415, 'unsupported_media_type'], 'Type', at, { body: 'x' });
    await expectRefused(server, invalid, 'size: expected number', at);
    const query = `${url}?size=3`;
    await expectRefused(server, unknown, 'query parameter', ['PATCH', query], {
      json: { size: 3 },
    });
    await expectRefused(server, unknown, 'query parameter', ['GET', `${url}?name=x`]);
    await expectRefused(server, [404, 'not_found'], 'only ', ['POST', url], { json: { size: 3 } });
  });
});

describe('what the engine reports', () => {
  const blocked: PoolReport = {
    pools: [
      {
        ...{ name: 'python', size: 3, ready: 1, creating: 2, provider: null, state: 'blocked' },
        shape: { ...shape, limits: { ...shape.limits, cpu: 0.5, memoryBytes: GiB / 2 } },
        reason: 'no provider can keep sandboxes waiting',
      },
    ],
    counts: { hits: { gone: 4 }, misses: { empty: 1, no_pool: 2, provider: 3, dead: 4 } },
  };

  /** A server whose engine answers so. */
  function reporting(
    report: () => Promise<PoolReport>,
    limits: TestServerOptions['limits'] = {},
  ): Promise<TestServer> {
    const pool: Engine['pool'] = { report, resize: report };
    return startServer(store, {
      limits,
      wrapEngine: (engine) => ({ ...engine, pool }),
    });
  }

  test('is told as it is, and measured', async () => {
    await using told = await reporting(() => Promise.resolve(blocked));
    expect(await told.admin.json(200, 'GET', url)).toEqual({
      pools: [
        {
          ...{ name: 'python', size: 3, ready: 1, creating: 2, provider: null, state: 'blocked' },
          ...{ image: 'base', network: 'nat', reason: 'no provider can keep sandboxes waiting' },
          resource_limits: { cpu: 0.5, memory: '512M', disk: '10G' },
        },
      ],
      hits: { gone: 4 },
      misses: { empty: 1, no_pool: 2, provider: 3, dead: 4 },
    });
    const { text } = await told.admin.call('GET', '/metrics');
    expect(text.match(/^emergent_warm_pool_.*$/gm)).toEqual([
      'emergent_warm_pool_size{pool="python"} 3',
      'emergent_warm_pool_ready{pool="python"} 1',
      'emergent_warm_pool_creating{pool="python"} 2',
      'emergent_warm_pool_hits_total{pool="python"} 0',
      'emergent_warm_pool_hits_total{pool="gone"} 4',
      'emergent_warm_pool_misses_total{reason="empty"} 1',
      'emergent_warm_pool_misses_total{reason="no_pool"} 2',
      'emergent_warm_pool_misses_total{reason="provider"} 3',
      'emergent_warm_pool_misses_total{reason="dead"} 4',
    ]);
    expect(text).toMatch(/^# TYPE emergent_create_attempts_total counter$/m);
  });

  test('costs a scrape only its own figures when it fails', async () => {
    const away = new EmergentError('store_unavailable', 'away');
    await using sick = await reporting(() => Promise.reject(away));
    await expectOthers(sick, ['store_up 1', 'workspaces_unmeasured', 'create_attempts_total']);
  });

  test('and when it hangs', async () => {
    // So short that only what need not be waited for is sure to be there.
    const limits = { scrapeMs: 50 };
    await using sick = await reporting(() => Promise.withResolvers<PoolReport>().promise, limits);
    await expectOthers(sick, ['store_up 1', 'create_attempts_total']);
  });

  async function expectOthers(sick: TestServer, names: readonly string[]): Promise<void> {
    const { status, text } = await sick.admin.call('GET', '/metrics');
    expect(status).toBe(200);
    for (const name of names) expect(text).toContain(`emergent_${name}`);
    expect(text).not.toContain('emergent_warm_pool_');
    expect(sick.recorded.lines.join('')).toContain('the scrape could not read the warm pools');
  }
});
