import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CallOptions } from './support/client.ts';
import { expectRefused, invalid, unknown } from './support/refused.ts';
import { openTestStore, startServer } from './support/server.ts';
import type { TestServer, TestStore } from './support/server.ts';

const workspaces = '/api/v1/agent/workspaces';
const headers = { 'content-type': 'application/json' };

let store: TestStore;
let server: TestServer;
let one: string;
beforeAll(async () => {
  store = await openTestStore();
  server = await startServer(store);
  one = `${workspaces}/${await server.newWorkspace()}`;
});
afterAll(async () => {
  // Whatever was sent, nothing was written.
  const json = { file_path: '.' };
  expect(await server.admin.json(200, 'POST', `${one}/read`, { json })).toMatchObject({
    entries: [],
  });
  await server[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

const refused = (
  expected: readonly [number, string],
  says: string,
  path: string,
  options?: CallOptions,
): Promise<void> => expectRefused(server, expected, says, ['POST', path], options);

const bodies = {
  read: { file_path: 'f' },
  write: { file_path: 'f', content: 'x' },
  edit: { file_path: 'f', old_string: 'a', new_string: 'b' },
};

describe.for(Object.entries(bodies))('%s', ([tool, body]) => {
  test('takes its own fields and no parameters', async () => {
    const path = `${one}/${tool}`;
    await refused(unknown, 'path', path, { json: { ...body, path: 'f' } });
    await refused(unknown, 'query parameter', `${path}?file_path=f`, { json: body });
    await refused(invalid, 'file_path: expected string', path);
    await refused(invalid, 'body: expected object', path, { json: [] });
    await refused([400, 'malformed_json'], 'not JSON', path, { body: '{', headers });
    await refused([415, 'unsupported_media_type'], 'Content-Type', path, { body: 'x' });
  });

  test.each([
    ['file_path: must not be empty', ''],
    ['file_path: must not contain NUL', 'a\0'],
    ['file_path: must be well-formed', '\uD800'],
    ['file_path: must be at most 4096 bytes', 'é'.repeat(2_049)],
    ['file_path: expected string', 7],
    ['file_path: expected string', null],
    ['file_path: expected string', ['f']],
  ])('%s', async (says, file_path) => {
    await refused(invalid, says, `${one}/${tool}`, { json: { ...body, file_path } });
  });

  test('wants an id that exists', async () => {
    await refused([400, 'bad_id'], 'UUID', `${workspaces}/7/${tool}`, { json: body });
    const nobody = `${workspaces}/${randomUUID()}/${tool}`;
    await refused([404, 'workspace_not_found'], 'there is no workspace', nobody, { json: body });
  });

  test('does not lead out of the workspace', async () => {
    const outside = { ...body, file_path: '../../etc/passwd' };
    await refused([403, 'permission_denied'], 'outside', `${one}/${tool}`, { json: outside });
  });

  test('answers POST only', async () => {
    const error = await server.admin.error(404, 'GET', `${one}/${tool}`);
    expect(error.message).toContain('does not answer GET, only POST');
  });
});

test.each([
  ['offset: ', { offset: 0 }],
  ['offset: ', { offset: -1 }],
  ['offset: ', { offset: 1.5 }],
  ['offset: ', { offset: '1' }],
  ['offset: ', { offset: 1e300 }],
  ['limit: ', { limit: 0 }],
  ['limit: ', { limit: null }],
])('read: %s %j', async (says, fields) => {
  await refused(invalid, says, `${one}/read`, { json: { ...bodies.read, ...fields } });
});

test.each([
  ['content: expected string', { content: undefined }],
  ['content: expected string', { content: 7 }],
  ['content: must be well-formed', { content: 'a\uDC00' }],
])('write: %s', async (says, fields) => {
  await refused(invalid, says, `${one}/write`, { json: { ...bodies.write, ...fields } });
});

test('write: a directory cannot be written, nor anything too large for JSON', async () => {
  const directory = { file_path: '.', content: 'x' };
  await refused([422, 'is_directory'], 'directory', `${one}/write`, { json: directory });
  const large = { file_path: 'large', content: 'x'.repeat(2 ** 20) };
  await refused([413, 'body_too_large'], '', `${one}/write`, { json: large });
});

test.each([
  ['old_string: must not be empty', { old_string: '' }],
  ['old_string: expected string', { old_string: undefined }],
  ['old_string: must be well-formed', { old_string: '\uD800' }],
  ['new_string: expected string', { new_string: undefined }],
  ['new_string: must differ from old_string', { old_string: 'same', new_string: 'same' }],
  ['new_string: must be well-formed', { new_string: '\uD800' }],
  ['replace_all: ', { replace_all: 'yes' }],
])('edit: %s', async (says, fields) => {
  await refused(invalid, says, `${one}/edit`, { json: { ...bodies.edit, ...fields } });
});
