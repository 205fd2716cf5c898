import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestStore, startServer } from './support/server.ts';
import type { TestServer, TestStore } from './support/server.ts';

const workspaces = '/api/v1/agent/workspaces';

let store: TestStore;
let server: TestServer;
let id: string;
beforeAll(async () => {
  store = await openTestStore();
  server = await startServer(store);
  id = await server.newWorkspace();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

const call = (tool: string, body: object, status = 200): Promise<unknown> =>
  server.admin.json(status, 'POST', `${workspaces}/${id}/${tool}`, { json: body });
const refused = (tool: string, body: object, status: number) =>
  server.admin.error(status, 'POST', `${workspaces}/${id}/${tool}`, { json: body });

test('write, edit and read a file', async () => {
  const file_path = 'src/a.txt';
  const path = '/workspace/src/a.txt';
  expect(await call('write', { file_path, content: 'one\r\ntwo\r\n' })).toEqual({
    ...{ file_path: path, size: 10, created: true },
  });
  expect(await call('edit', { file_path, old_string: 'two', new_string: '2' })).toEqual({
    ...{ file_path: path, size: 8, replacements: 1 },
  });
  expect(await call('read', { file_path })).toEqual({
    ...{ kind: 'text', file_path: path, size: 8, content: '1: one\n2: 2', lines: 2 },
    ...{ total_lines: 2, line_ending: 'crlf', ends_with_newline: true },
    ...{ truncated: false, next_offset: null },
  });
  expect(await call('write', { file_path, content: '' })).toMatchObject({ created: false });
  expect(await call('read', { file_path })).toMatchObject({ content: '', total_lines: 0 });
});

test('read a window, a directory and a binary file', async () => {
  await call('write', { file_path: 'd/lines', content: 'a\nb\nc\n' });
  expect(await call('read', { file_path: 'd/lines', offset: 2, limit: 1 })).toMatchObject({
    ...{ content: '2: b', truncated: true, next_offset: 3, total_lines: null },
  });
  await call('write', { file_path: 'd/sub/binary', content: 'a\0b' });
  expect(await call('read', { file_path: 'd' })).toEqual({
    ...{ kind: 'directory', file_path: '/workspace/d', entries: ['lines', 'sub/'] },
    ...{ total_entries: 2, truncated: false, next_offset: null },
  });
  expect(await call('read', { file_path: 'd/sub/binary' })).toEqual({
    ...{ kind: 'binary', file_path: '/workspace/d/sub/binary', size: 3 },
  });
});

test('what cannot be done is said in the words of the contract', async () => {
  expect(await refused('read', { file_path: 'none' }, 404)).toMatchObject({
    code: 'file_not_found',
  });
  const edit = { file_path: 'words', old_string: 'a', new_string: 'b' };
  expect(await refused('edit', edit, 404)).toMatchObject({ code: 'file_not_found' });
  await call('write', { file_path: 'words', content: 'a a' });
  expect(await refused('edit', edit, 422)).toMatchObject({
    ...{ code: 'multiple_matches', message: 'Found multiple matches for oldString' },
    details: { matches: 2 },
  });
  expect(await refused('edit', { ...edit, old_string: 'x' }, 422)).toMatchObject({
    ...{ code: 'no_match', message: 'oldString not found in content' },
  });
  expect(await call('edit', { ...edit, replace_all: true })).toMatchObject({ replacements: 2 });
  const behind = await refused('read', { file_path: 'words', offset: 9 }, 422);
  expect(behind).toMatchObject({ code: 'invalid_value', details: { lines: 1 } });
});

test('each call is a use and leaves an event with the path and without the contents', async () => {
  const own = await server.newWorkspace();
  const tools = `${workspaces}/${own}`;
  const post = (tool: string, json: object, status: number) =>
    server.admin.json(status, 'POST', `${tools}/${tool}`, { json });
  await post('write', { file_path: 'f', content: 'secret words' }, 200);
  await post('read', { file_path: 'f' }, 200);
  await post('edit', { file_path: 'f', old_string: 'secret', new_string: 'x' }, 200);
  await post('edit', { file_path: 'f', old_string: 'secret', new_string: 'x' }, 422);
  const { items } = await server.admin.json<{ items: { type: string; detail: object }[] }>(
    200,
    'GET',
    `/api/v1/events?workspace_id=${own}`,
  );
  const calls = items.filter(({ type }) => type.startsWith('tool.'));
  expect(calls.map(({ type, detail }) => ({ type, ...detail }))).toMatchObject([
    { type: 'tool.edit', subject: 'f', result: 'no_match' },
    { type: 'tool.edit', subject: 'f', result: 'ok' },
    { type: 'tool.read', subject: 'f', result: 'ok' },
    { type: 'tool.write', subject: 'f', result: 'ok' },
  ]);
  expect(JSON.stringify(items)).not.toContain('secret');
});

test("another agent's workspace is not there", async () => {
  const agent = await server.newClient('agent');
  for (const [tool, json] of Object.entries({
    read: { file_path: 'f' },
    write: { file_path: 'f', content: 'x' },
    edit: { file_path: 'f', old_string: 'a', new_string: 'b' },
  })) {
    const error = await agent.error(404, 'POST', `${workspaces}/${id}/${tool}`, { json });
    expect(error.code).toBe('workspace_not_found');
  }
});

test('somebody who keeps writing the file wins', async () => {
  await using busy = await startServer(store, {
    wrap: (provider) => {
      const writeFile = provider.writeFile.bind(provider);
      provider.writeFile = async (ref, path, content, signal, options) => {
        if (options?.ifVersion !== undefined) await writeFile(ref, path, theirs(), signal);
        return writeFile(ref, path, content, signal, options);
      };
      return provider;
    },
  });
  const path = `${workspaces}/${id}`;
  await busy.admin.json(200, 'POST', `${path}/write`, { json: { file_path: 'b', content: 'a' } });
  const json = { file_path: 'b', old_string: 'a', new_string: 'b' };
  const error = await busy.admin.error(409, 'POST', `${path}/edit`, { json });
  expect(error).toMatchObject({ code: 'file_changed' });
  expect(await call('read', { file_path: 'b' })).toMatchObject({ content: '1: a, theirs' });
});

async function* theirs(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('a, theirs');
}
