import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { DeadlineError } from '../../src/base/deadline.ts';
import type { JsonRpcOutcome } from '../../src/domain/json-rpc.ts';
import type { McpServer } from '../../src/domain/mcp.ts';
import { startMcpApi, registration, tokens } from './support/mcp-api.ts';
import type { McpApi } from './support/mcp-api.ts';
import { legacyProgram } from './support/mcp-program.ts';
import { eventsOf } from './support/sse.ts';

const servers = '/api/v1/mcp/servers';
const owner = tokens['an-agent']?.tokenId ?? '';
const minimal = { name: 'one', image: 'some/image' };

let api: McpApi;
let hosted: McpServer;
beforeAll(async () => {
  api = await startMcpApi();
  const config = { volumes: ['/data'], args: ['--fast'] };
  hosted = api.mcp.add(registration('hosted', config), owner, await legacyProgram());
});
beforeEach(() => {
  api.mcp.asked.length = 0;
});
afterAll(() => api[Symbol.asyncDispose]());

describe('registering', () => {
  test('takes the defaults for what is left out', async () => {
    const made = await api.admin.json<Record<string, unknown>>(201, 'POST', servers, {
      json: minimal,
    });
    expect(made).toMatchObject({
      ...{ name: 'one', image: 'some/image', restart_policy: 'on-failure', network: 'isolated' },
      ...{ command: null, args: null, workdir: null, stdio_bridge: true, port: null, path: null },
      ...{ volumes: [], shared: false, max_in_flight: 16, initialize_timeout_ms: 30_000 },
      resource_limits: { cpu: 0.5, memory: '512M', disk: '1G' },
      url: `${servers}/${String(made['id'])}/mcp`,
    });
  });

  test('takes everything that can be said, and never shows the environment', async () => {
    const body = {
      ...{ name: 'two.b-c_d', image: 'registry.example/x:1', command: 'serve', args: ['-v', ''] },
      ...{ workdir: '/srv', env: { TOKEN: 'secret-word' }, stdio_bridge: false, port: 8080 },
      ...{ path: '/rpc', restart_policy: 'always', volumes: ['/data'], network: 'nat' },
      ...{ provider: 'gvisor', max_in_flight: 1, initialize_timeout_ms: 1000, shared: true },
      ...{ metadata: { team: 'a' }, resource_limits: { cpu: 1, memory: '1G', disk: '2G' } },
    };
    const { text } = await api.admin.call('POST', servers, { json: body });
    const { env: _env, provider: _provider, ...shown } = body;
    expect(JSON.parse(text)).toMatchObject(shown);
    expect(text).not.toContain('secret-word');
  });

  test.each([
    ['no name', { name: undefined }, 'name'],
    ['a name with capitals', { name: 'Big' }, 'name'],
    ['a name that begins with a dot', { name: '.x' }, 'name'],
    ['a name that is too long', { name: 'x'.repeat(64) }, 'name'],
    ['a name like an id', { name: '00000000-0000-4000-8000-000000000001' }, 'name'],
    ['an image that is none', { image: 'NOT AN IMAGE' }, 'image'],
    ['a port with the bridge', { port: 80 }, 'port'],
    ['a path with the bridge', { path: '/mcp' }, 'path'],
    ['no bridge and no port', { stdio_bridge: false }, 'port'],
    ['a port out of range', { stdio_bridge: false, port: 65_536 }, 'port'],
    ['a path with a query', { stdio_bridge: false, port: 80, path: '/x?y' }, 'path'],
    ['a relative workdir', { workdir: 'srv' }, 'workdir'],
    ['a relative volume', { volumes: ['data'] }, 'volumes.0'],
    ['volumes within each other', { volumes: ['/a', '/a/b'] }, 'volumes'],
    ['an unknown policy', { restart_policy: 'sometimes' }, 'restart_policy'],
    ['an unknown network', { network: 'lan' }, 'network'],
    ['no calls at once', { max_in_flight: 0 }, 'max_in_flight'],
    ['too many calls at once', { max_in_flight: 257 }, 'max_in_flight'],
    ['an impatient deadline', { initialize_timeout_ms: 999 }, 'initialize_timeout_ms'],
    ['a reserved variable', { env: { EMERGENT_X: '1' } }, 'env.EMERGENT_X'],
    [
      'a memory limit of letters',
      { resource_limits: { memory: 'lots' } },
      'resource_limits.memory',
    ],
    ['an argument with a NUL', { args: ['a\0b'] }, 'args.0'],
  ])('refuses %s, and nothing is made', async (_what, change, field) => {
    const json = { ...minimal, name: 'refused', ...change };
    const error = await api.admin.error(422, 'POST', servers, { json });
    expect([error.code, error.message]).toEqual([
      'invalid_value',
      expect.stringContaining(field) as string,
    ]);
    expect(api.mcp.asked).toEqual([]);
  });

  test('refuses what it does not know', async () => {
    const json = { ...minimal, restart: 'always' };
    const error = await api.admin.error(422, 'POST', servers, { json });
    expect([error.code, error.message]).toEqual([
      'unknown_field',
      'restart: there is no such field',
    ]);
    expect((await api.admin.error(422, 'GET', `${servers}?all=1`)).code).toBe('unknown_field');
  });
});

describe('a server', () => {
  test('is shown where what it uses cannot be told in time', async () => {
    const { unmeasured } = api.mcp;
    api.mcp.unmeasured = new DeadlineError('the use of a workspace', 5_000);
    const path = `${servers}/${hosted.workspace.id}`;
    expect(await api.admin.json(200, 'GET', path)).toMatchObject({ name: 'hosted', usage: null });
    api.mcp.unmeasured = unmeasured;
  });

  test('is shown by id and by name, with how it is', async () => {
    for (const ref of [hosted.workspace.id, hosted.workspace.id.toUpperCase(), 'hosted']) {
      expect(await api.admin.json(200, 'GET', `${servers}/${ref}`)).toMatchObject({
        ...{ id: hosted.workspace.id, name: 'hosted', owner, args: ['--fast'], usage: null },
        health: { state: 'healthy', reason: null, crash_looping: false, next_start_at: null },
        last_exit: { exit_code: 1, signal: null },
        introduction: {
          protocol_version: '2025-11-25',
          server_info: { name: 'test-program', title: 'A title' },
          instructions: 'be kind',
        },
        uptime_seconds: expect.any(Number) as number,
      });
    }
    const { items } = await api.admin.json<{ items: unknown[] }>(200, 'GET', servers);
    expect(items[0]).toMatchObject({ name: 'hosted' });
  });

  test('that is not there, or whose name cannot be one, is told apart', async () => {
    const missing = await api.admin.error(404, 'GET', `${servers}/nothing`);
    expect(missing.code).toBe('mcp_server_not_found');
    expect((await api.admin.error(400, 'GET', `${servers}/-x`)).code).toBe('bad_id');
    const stranger = api.admin.as('another-agent');
    expect((await stranger.error(404, 'GET', `${servers}/hosted`)).code).toBe(
      'mcp_server_not_found',
    );
  });

  test('is stopped, started and restarted', async () => {
    for (const change of ['stop', 'start', 'restart']) {
      const changed = await api.admin.json(200, 'POST', `${servers}/hosted/${change}`);
      expect(changed).toMatchObject({ name: 'hosted' });
      const path = `${servers}/hosted/${change}`;
      await api.admin.error(422, 'POST', path, { json: { now: true } });
    }
    expect(api.mcp.asked).toEqual(['stop', 'start', 'restart']);
  });

  test('is called once, and its refusal is an answer', async () => {
    const path = `${servers}/hosted/call`;
    const outcomes: JsonRpcOutcome[] = [
      { result: { tools: [], 'x-unknown': [{ deep: 1 }] } },
      { error: { code: -32_601, message: 'no such method', data: { a: [1] } } },
      { error: { code: -32_601, message: 'no such method' } },
    ];
    for (const outcome of outcomes) {
      api.mcp.outcome = outcome;
      const json = { method: 'tools/call', params: { name: 'x' } };
      expect(await api.admin.json(200, 'POST', path, { json })).toEqual(outcome);
    }
    for (const json of [
      {},
      { method: '' },
      { method: 'x', params: [] },
      { method: 'x', timeout_ms: 600_001 },
      { method: 'x', timeout_ms: 0 },
      { method: 'x', id: 1 },
    ]) {
      await api.admin.error(422, 'POST', path, { json });
    }
    expect(api.mcp.asked).toEqual(outcomes.map(() => 'call tools/call'));
  });

  test('shows what it wrote, and follows it', async () => {
    const at = new Date();
    api.mcp.logLines = ['a', 'b', 'c'].map((text, index) => ({
      ...{ number: index + 1, at, text },
      stream: 'stderr' as const,
    }));
    const path = `${servers}/hosted/logs`;
    const all = await api.admin.json<{ items: { text: string }[] }>(200, 'GET', path);
    expect(all.items.map(({ text }) => text)).toEqual(['a', 'b', 'c']);
    const last = await api.admin.json<{ items: unknown[] }>(200, 'GET', `${path}?tail=1`);
    expect(last.items).toEqual([{ number: 3, at: at.toISOString(), stream: 'stderr', text: 'c' }]);
    const response = await api.admin.fetch('GET', `${path}?tail=2&follow=true`);
    const events = await Array.fromAsync(eventsOf(response));
    expect(events.map(({ event, data, id }) => [event, data['text'], id])).toEqual([
      ['line', 'b', 2],
      ['line', 'c', 3],
    ]);
    await api.admin.error(404, 'GET', `${servers}/nothing/logs?follow=true`);
    for (const query of ['tail=-1', 'tail=x', 'tail=10001', 'follow=yes', 'since=1']) {
      await api.admin.error(422, 'GET', `${path}?${query}`);
    }
  });

  test('is deleted with its files, or without', async () => {
    const config = { volumes: ['/data'] };
    const [gone, kept] = ['gone', 'kept'].map((name) =>
      api.mcp.add(registration(name, config), owner, hosted0()),
    );
    expect(await api.admin.json(200, 'DELETE', `${servers}/gone`)).toEqual({
      ...{ id: gone?.workspace.id, status: 'destroyed', kept_volumes: null },
    });
    expect(await api.admin.json(200, 'DELETE', `${servers}/kept?keep_volumes=true`)).toMatchObject({
      id: kept?.workspace.id,
      kept_volumes: { id: kept?.workspace.id, name: 'kept', paths: ['/data'] },
    });
    await api.admin.error(404, 'DELETE', `${servers}/gone`);
    await api.admin.error(422, 'DELETE', `${servers}/hosted?keep=true`);
    await api.admin.json(200, 'GET', `${servers}/hosted`);
  });
});

function hosted0() {
  return { path: '/', port: 1, dial: () => Promise.reject(new Error('not asked')) };
}

test('files that were kept are listed and removed', async () => {
  const id = '00000000-0000-4000-8000-00000000000a';
  const keptAt = new Date();
  api.mcp.kept = [
    { ...{ id, owner, name: 'old', provider: 'fake', sandboxName: 's' }, paths: ['/data'], keptAt },
  ];
  const volumes = '/api/v1/mcp/volumes';
  expect(await api.admin.json(200, 'GET', volumes)).toEqual({
    items: [
      {
        ...{ id, owner, name: 'old', provider: 'fake' },
        paths: ['/data'],
        kept_at: keptAt.toISOString(),
      },
    ],
  });
  expect((await api.admin.error(400, 'DELETE', `${volumes}/old`)).code).toBe('bad_id');
  expect((await api.admin.call('DELETE', `${volumes}/${id}`)).status).toBe(204);
  expect((await api.admin.error(404, 'DELETE', `${volumes}/${id}`)).code).toBe('volumes_not_found');
});

test('what is hosted and called is measured', async () => {
  api.mcp.outcome = { result: { isError: true } };
  await api.admin.json(200, 'POST', `${servers}/hosted/call`, { json: { method: 'tools/call' } });
  const text = (await api.admin.call('GET', '/metrics')).text;
  expect(text).toMatch(/^emergent_mcp_servers\{health="healthy"\} [1-9]/m);
  expect(text).toMatch(/^emergent_mcp_calls_total\{result="error"\} [1-9]/m);
  expect(text).toContain(
    `emergent_mcp_restarts_total{workspace="${hosted.workspace.id}",server="hosted"} 0`,
  );
  expect(text).toMatch(/^emergent_mcp_sessions 0$/m);
});
