import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CallOptions } from './support/client.ts';
import { expectRefused, invalid, unknown } from './support/refused.ts';
import { openTestStore, startServer } from './support/server.ts';
import type { TestServer, TestStore } from './support/server.ts';

const workspaces = '/api/v1/agent/workspaces';
const json = { 'content-type': 'application/json' };

let store: TestStore;
let server: TestServer;
let one: string;
beforeAll(async () => {
  store = await openTestStore();
  server = await startServer(store);
  one = `${workspaces}/${await server.newWorkspace()}`;
});
afterAll(async () => {
  // Whatever was sent, the workspace is as it was.
  expect(await server.admin.json(200, 'GET', one)).toMatchObject({ status: 'ready', version: 2 });
  await server[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

const refused = (
  expected: readonly [number, string],
  says: string,
  method: string,
  path: string,
  options?: CallOptions,
): Promise<void> => expectRefused(server, expected, says, [method, path], options);

describe.for(['stop', 'resume', 'recover'])('%s', (change) => {
  test('takes no fields and no parameters', async () => {
    const path = `${one}/${change}`;
    await refused(unknown, 'force', 'POST', path, { json: { force: true } });
    await refused(unknown, 'query parameter', 'POST', `${path}?force=true`);
    await refused(invalid, 'body: expected object', 'POST', path, { json: [] });
    await refused([400, 'malformed_json'], 'not JSON', 'POST', path, { body: '{', headers: json });
    await refused([415, 'unsupported_media_type'], 'Content-Type', 'POST', path, { body: 'x' });
  });

  test('wants an id that exists', async () => {
    await refused([400, 'bad_id'], 'UUID', 'POST', `${workspaces}/7/${change}`);
    const nobody = `${workspaces}/${randomUUID()}/${change}`;
    await refused([404, 'workspace_not_found'], 'there is no workspace', 'POST', nobody);
  });

  test('answers POST only', async () => {
    await refused([404, 'not_found'], 'does not answer GET, only POST', 'GET', `${one}/${change}`);
  });
});

test.each(['wait=', 'wait=no', 'wait=1', 'wait=true&wait=false'])('create ?%s', async (query) => {
  await refused(invalid, 'wait: ', 'POST', `${workspaces}?${query}`);
});

describe('processes', () => {
  test.each([
    ['command: expected string', {}],
    ['command: must not be empty', { command: '' }],
    ['command: must not contain NUL', { command: 'a\0' }],
    ['command: must be at most 131071 bytes', { command: 'a'.repeat(128 * 1024) }],
    ['workdir: must not contain NUL', { command: 'true', workdir: '\0' }],
    ['env.A-B', { command: 'true', env: { 'A-B': '1' } }],
    ['env.EMERGENT_X', { command: 'true', env: { EMERGENT_X: '1' } }],
  ])('start: %s', async (says, body) => {
    await refused(invalid, says, 'POST', `${one}/processes`, { json: body });
  });

  test('start: has no timeout', async () => {
    const body = { command: 'true', timeout_ms: 5 };
    await refused(unknown, 'timeout_ms', 'POST', `${one}/processes`, { json: body });
  });

  test.each(['7', 'not-a-uuid', '%20', `${randomUUID()}x`])('the id %s', async (bad) => {
    const bad_id = [400, 'bad_id'] as const;
    const says = 'process_id: must be a UUID';
    const path = `${one}/processes/${bad}`;
    await refused(bad_id, says, 'GET', path);
    await refused(bad_id, says, 'GET', `${path}/output`);
    const signal = { json: { signal: 'SIGINT' } };
    await refused(bad_id, says, 'POST', `${path}/signal`, signal);
    const elsewhere = `${workspaces}/${bad}/processes`;
    await refused(bad_id, 'id: must be a UUID', 'GET', elsewhere);
    await refused(bad_id, 'id: must be a UUID', 'POST', elsewhere, { json: { command: 'true' } });
  });

  test.each([
    ['offset=-1', 'offset'],
    ['offset=1.5', 'offset'],
    ['offset=far', 'offset'],
    ['offset=99999999999999999999', 'offset'],
    ['offset=1&offset=2', 'offset'],
    ['follow=yes', 'follow'],
    ['follow=', 'follow'],
  ])('output ?%s', async (query, says) => {
    await refused(invalid, says, 'GET', `${one}/processes/${randomUUID()}/output?${query}`);
  });

  test('output: other parameters, and a Last-Event-ID that is no place', async () => {
    const path = `${one}/processes/${randomUUID()}/output`;
    await refused(unknown, 'tail', 'GET', `${path}?tail=5`);
    for (const id of ['-1', 'abc', '1e400']) {
      const headers = { 'last-event-id': id, accept: 'text/event-stream' };
      await refused(invalid, 'last-event-id', 'GET', path, { headers });
    }
  });

  test('output: a place that no output has reached', async () => {
    const body = { command: 'true' };
    const at = `${one}/processes`;
    const { id } = await server.admin.json<{ id: string }>(201, 'POST', at, { json: body });
    for (const accept of ['text/event-stream', 'application/octet-stream']) {
      const path = `${at}/${id}/output?offset=1000000`;
      await refused(invalid, 'offset', 'GET', path, { headers: { accept } });
    }
  });
});

describe('events', () => {
  test.each([
    ['workspace_id=7', 'workspace_id: must be a UUID'],
    ['type=workspace.sleeping', 'type'],
    ['type=', 'type'],
    ['type=workspace.ready,', 'type'],
    ['type=workspace.ready&type=tool', 'type'],
    [`type=${Array.from({ length: 200 }, () => 'tool.bash').join(',')}`, 'type'],
    ['after=-1', 'after'],
    ['after=last', 'after'],
    ['after=99999999999999999999', 'after'],
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['limit=all', 'limit'],
  ])('?%s', async (query, says) => {
    await refused(invalid, says, 'GET', `/api/v1/events?${query}`);
    const headers = { accept: 'text/event-stream' };
    await refused(invalid, says, 'GET', `/api/v1/events?${query}`, { headers });
  });

  test('other parameters', async () => {
    await refused(unknown, 'before', 'GET', '/api/v1/events?before=5');
    const headers = { 'last-event-id': 'x', accept: 'text/event-stream' };
    await refused(invalid, 'last-event-id', 'GET', '/api/v1/events', { headers });
  });
});

describe('gc', () => {
  test.each([
    ['dry_run: expected boolean', { dry_run: 'true' }],
    ['include_unknown: expected boolean', { include_unknown: 1 }],
    ['min_age_seconds', { min_age_seconds: -1 }],
    ['min_age_seconds', { min_age_seconds: 0.5 }],
    ['min_age_seconds', { min_age_seconds: 1e12 }],
  ])('%s', async (says, body) => {
    await refused(invalid, says, 'POST', '/api/v1/gc', { json: body });
  });

  test('other fields and parameters', async () => {
    await refused(unknown, 'force', 'POST', '/api/v1/gc', { json: { force: true } });
    await refused(unknown, 'query parameter', 'POST', '/api/v1/gc?dry_run=true');
  });
});
