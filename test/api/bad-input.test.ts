import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { CallOptions } from './support/client.ts';
import { openTestStore, startServer } from './support/server.ts';
import type { TestServer, TestStore } from './support/server.ts';

const workspaces = '/api/v1/agent/workspaces';
const json = { 'content-type': 'application/json' };

let store: TestStore;
let server: TestServer;
let id: string;
let bash: string;
let files: string;
beforeAll(async () => {
  store = await openTestStore();
  server = await startServer(store);
  id = await server.newWorkspace();
  bash = `${workspaces}/${id}/bash`;
  files = `${workspaces}/${id}/files`;
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});
// Whatever was sent, the server goes on answering.
afterEach(async () => {
  const answer = await server.admin.json(200, 'POST', bash, { json: { command: 'echo fine' } });
  expect(answer).toMatchObject({ stdout: 'fine\n', exit_code: 0 });
});

interface Refusal {
  readonly status: number;
  readonly code: string;
  /** A part of the message: it names the field. */
  readonly says: string;
}

async function refused(
  expected: Refusal,
  method: string,
  path: string,
  options?: CallOptions,
): Promise<void> {
  const error = await server.admin.error(expected.status, method, path, options);
  expect(error.code).toBe(expected.code);
  expect(error.message).toContain(expected.says);
  expect(error.hint).not.toBe('');
}

describe('bodies', () => {
  test.each([
    ['cut off', '{"provider": "mem', 'malformed_json'],
    ['not JSON', 'provider=memory', 'malformed_json'],
    ['not UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 'malformed_json'],
    ['two values', '{} {}', 'malformed_json'],
  ])('%s', async (_name, body, code) => {
    const expected = { status: 400, code, says: 'not JSON' };
    await refused(expected, 'POST', workspaces, { body, headers: json });
  });

  test.each(['[]', 'null', '"text"', '7'])('%s instead of an object', async (body) => {
    const expected = { status: 422, code: 'invalid_value', says: 'body: expected object' };
    await refused(expected, 'POST', workspaces, { body, headers: json });
  });

  test('nested deeper than any stack', async () => {
    const deep = `{"metadata":{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}}`;
    const expected = { status: 422, code: 'invalid_value', says: 'metadata: must not nest' };
    await refused(expected, 'POST', workspaces, { body: deep, headers: json });
  });

  test.each(['{"__proto__":{"provider":"x"}}', '{"metadata":{"\\u005f_proto__":1}}'])(
    'a prototype in %s',
    async (body) => {
      const expected = { status: 422, code: 'unknown_field', says: '__proto__' };
      await refused(expected, 'POST', workspaces, { body, headers: json });
    },
  );

  test('of another type', async () => {
    const expected = { status: 415, code: 'unsupported_media_type', says: 'Content-Type' };
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'nonsense']) {
      const headers = { 'content-type': type };
      await refused(expected, 'POST', workspaces, { body: '{}', headers });
    }
    await refused(expected, 'POST', workspaces, { body: new Uint8Array([0x7b, 0x7d]) });
  });

  test('compressed', async () => {
    const headers = { ...json, 'content-encoding': 'gzip' };
    const expected = { status: 415, code: 'unsupported_media_type', says: 'gzip' };
    await refused(expected, 'POST', workspaces, { body: '{}', headers });
    await refused(expected, 'PUT', `${files}?path=a`, {
      body: 'a',
      headers: { 'content-encoding': 'gzip' },
    });
  });
});

describe('unknown fields', () => {
  test.each([
    [{ colour: 'red' }, 'colour'],
    [{ resource_limits: { cpus: 2 } }, 'resource_limits.cpus'],
    [{ repository: 'https://example.com/a.git' }, 'repository'],
  ])('%j', async (body, says) => {
    const expected = { status: 422, code: 'unknown_field', says };
    await refused(expected, 'POST', workspaces, { json: body });
  });

  test('all are listed, within reason', async () => {
    const body = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`f${String(i)}`, 1]));
    const error = await server.admin.error(422, 'POST', workspaces, {
      json: { ...body, network: 'bridge' },
    });
    expect(error.message).toContain('(and 5000 more)');
    expect(error.details?.['issues']).toHaveLength(20);
  });

  test('in the query', async () => {
    const expected = { status: 422, code: 'unknown_field', says: 'query parameter' };
    await refused(expected, 'GET', `${workspaces}?colour=red`);
    await refused(expected, 'DELETE', `${workspaces}/${randomUUID()}?snapshot=true`);
    await refused(expected, 'POST', `${bash}?wait=false`, { json: { command: 'true' } });
  });
});

describe('values', () => {
  test.each([
    ['provider: expected string', { provider: 7 }],
    ['provider: must not be empty', { provider: '' }],
    ['network: expected one of', { network: 'bridge' }],
    ['deployment_mode', { deployment_mode: 'cloud' }],
    [
      'container_type: must be "agent_workspace"; MCP servers are registered at /mcp/servers',
      { container_type: 'mcp_server' },
    ],
    ['image: is not an image reference', { image: 'UPPER CASE' }],
    ['image: is not an image reference', { image: 'a/../../b' }],
    ['image: must be at most 512 bytes', { image: 'a'.repeat(513) }],
    ['ttl_seconds', { ttl_seconds: 59 }],
    ['ttl_seconds', { ttl_seconds: 60.5 }],
    ['ttl_seconds: expected', { ttl_seconds: '3600' }],
    ['ttl_seconds', { ttl_seconds: 1e12 }],
    ['resource_limits.memory: "much" is not a size', { resource_limits: { memory: 'much' } }],
    ['resource_limits.disk', { resource_limits: { disk: '-1G' } }],
    ['resource_limits.memory: expected string', { resource_limits: { memory: 512 } }],
    ['resource_limits.cpu', { resource_limits: { cpu: 0 } }],
    ['resource_limits.cpu: must be a number of cores', { resource_limits: { cpu: true } }],
    ['env.1A: is not a name', { env: { '1A': 'x' } }],
    ['env.A=B: is not a name', { env: { 'A=B': 'x' } }],
    ['env.EMERGENT_KEY: must not start with EMERGENT_', { env: { EMERGENT_KEY: 'x' } }],
    ['env.A: must not contain NUL', { env: { A: 'a\0b' } }],
    ['env.A: expected string', { env: { A: 1 } }],
    ['env: must be smaller', { env: { A: 'a'.repeat(131_072) } }],
    ['metadata: expected', { metadata: [] }],
    ['metadata: must be at most 16384 bytes', { metadata: { a: 'x'.repeat(17_000) } }],
    ['metadata: must not contain NUL', { metadata: { a: ['b\0'] } }],
    ['metadata: must not contain NUL', { metadata: { 'a\0': 1 } }],
    ['metadata: must be well-formed', { metadata: { a: '\ud800' } }],
    ['agent_session_id: must not contain NUL', { agent_session_id: 'a\0' }],
  ])('create: %s', async (says, body) => {
    const text = JSON.stringify(body);
    const expected = { status: 422, code: 'invalid_value', says };
    await refused(expected, 'POST', workspaces, { body: text, headers: json });
  });

  test('one wrong value is one reason, however wrong it is', async () => {
    const image = '\0'.repeat(5000);
    const error = await server.admin.error(422, 'POST', workspaces, { json: { image } });
    expect(error.message).toBe('image: must be at most 512 bytes long');
    expect(error.details).toEqual({
      in: 'body',
      issues: [{ path: 'image', message: 'must be at most 512 bytes long' }],
    });
  });

  test('an unknown provider names the known ones', async () => {
    const error = await server.admin.error(422, 'POST', workspaces, { json: { provider: 'xen' } });
    expect(error).toMatchObject({ code: 'provider_unknown', details: { known: ['memory'] } });
  });

  test.each([
    ['command: expected string, received undefined', {}],
    ['command: must not be empty', { command: '' }],
    ['command: must not contain NUL bytes', { command: 'echo \0' }],
    ['command: must be at most 131071 bytes', { command: 'a'.repeat(128 * 1024) }],
    ['command: must be at most 131071 bytes', { command: 'é'.repeat(66_000) }],
    ['workdir: must be at most 4096 bytes', { command: 'true', workdir: `/${'a'.repeat(5000)}` }],
    ['workdir: must not contain NUL', { command: 'true', workdir: 'a\0b' }],
    ['workdir', { command: 'true', workdir: 'missing' }],
    ['timeout_ms', { command: 'true', timeout_ms: 0 }],
    ['timeout_ms', { command: 'true', timeout_ms: 1e10 }],
    ['env.A-B', { command: 'true', env: { 'A-B': '1' } }],
  ])('bash: %s', async (says, body) => {
    await refused({ status: 422, code: 'invalid_value', says }, 'POST', bash, { json: body });
  });

  test('a command without a body names what is missing', async () => {
    await refused({ status: 422, code: 'invalid_value', says: 'command' }, 'POST', bash);
  });

  test('the longest command runs', async () => {
    const command = `: ${'a'.repeat(128 * 1024 - 3)}`;
    expect(await server.admin.json(200, 'POST', bash, { json: { command } })).toMatchObject({
      exit_code: 0,
    });
  });

  test.each([
    ['path: expected string, received undefined', ''],
    ['path: must not be empty', 'path='],
    ['path: must be at most 4096 bytes', `path=${'a'.repeat(5000)}`],
    ['path: must not contain NUL', 'path=a%00b'],
    ['path: expected string, received array', 'path=a&path=b'],
  ])('files: %s', async (says, query) => {
    const expected = { status: 422, code: 'invalid_value', says };
    await refused(expected, 'GET', `${files}?${query}`);
    await refused(expected, 'PUT', `${files}?${query}`, { body: 'a' });
  });

  test.each([
    ['limit=0', 'limit'],
    ['limit=201', 'limit'],
    ['limit=many', 'limit'],
    ['limit=1&limit=2', 'limit'],
    ['status=sleeping', 'status: expected one of'],
    ['container_type=vm', 'container_type'],
    ['provider=a%00', 'provider: must not contain NUL'],
    ['cursor=nonsense', 'cursor'],
  ])('list ?%s', async (query, says) => {
    const expected = { status: 422, code: 'invalid_value', says };
    await refused(expected, 'GET', `${workspaces}?${query}`);
  });

  test.each([
    ['role: expected one of', { name: 'x', role: 'root' }],
    ['name: must not be empty', { name: '', role: 'agent' }],
    ['name: expected string', { role: 'agent' }],
    ['name: must be at most 100 bytes', { name: 'x'.repeat(101), role: 'agent' }],
  ])('token: %s', async (says, body) => {
    const expected = { status: 422, code: 'invalid_value', says };
    await refused(expected, 'POST', '/api/v1/tokens', { json: body });
  });

  test('signal', async () => {
    const invalid = { status: 422, code: 'invalid_value' };
    const at = `${workspaces}/${id}/processes/${randomUUID()}/signal`;
    const says = 'signal: expected one of';
    for (const signal of ['SIGSTOP', 'TERM', 15, null]) {
      await refused({ ...invalid, says }, 'POST', at, { json: { signal } });
    }
    await refused({ ...invalid, says }, 'POST', at);
    const unknown = { status: 422, code: 'unknown_field', says: 'pid' };
    await refused(unknown, 'POST', at, { json: { signal: 'SIGINT', pid: 1 } });
  });
});

describe('ids', () => {
  test.each(['7', 'not-a-uuid', 'a'.repeat(300), '%20', `${randomUUID()}x`])('%s', async (bad) => {
    const expected = { status: 400, code: 'bad_id', says: 'id: must be a UUID' };
    await refused(expected, 'GET', `${workspaces}/${bad}`);
    await refused(expected, 'DELETE', `${workspaces}/${bad}`);
    await refused(expected, 'POST', `${workspaces}/${bad}/bash`, { json: { command: 'true' } });
    await refused(expected, 'PUT', `${workspaces}/${bad}/files?path=a`, { body: 'a' });
    await refused(expected, 'DELETE', `/api/v1/tokens/${bad}`);
  });
});

describe('paths', () => {
  test('a path that does not exist', async () => {
    const expected = { status: 404, code: 'not_found', says: 'there is no /api/v1/nothing' };
    await refused(expected, 'GET', '/api/v1/nothing');
    await refused(expected, 'POST', '/api/v1/nothing', { body: '{', headers: json });
    for (const path of ['/', '/api', '/api/v1', '/api/v1/healthz', '/api/v1/metrics']) {
      await refused({ ...expected, says: 'there is no' }, 'GET', path);
    }
  });

  test('a method that a path does not answer', async () => {
    const answer = await server.admin.call('PATCH', `${workspaces}/${id}`, { json: {} });
    expect(answer.status).toBe(404);
    expect(answer.headers.get('allow')).toBe('GET, DELETE');
    expect(answer.text).toContain('does not answer PATCH, only GET, DELETE');
    await refused({ status: 404, code: 'not_found', says: 'PROPFIND' }, 'PROPFIND', workspaces);
  });

  test('a slash at the end changes nothing', async () => {
    await server.admin.json(200, 'GET', `${workspaces}/${id}/`);
  });
});
