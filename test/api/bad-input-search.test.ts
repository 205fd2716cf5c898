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
  // Whatever was sent, the workspace is as it was, and nothing was added.
  expect(await server.admin.json(200, 'GET', one)).toMatchObject({ status: 'ready', version: 2 });
  const page = await server.admin.json<{ items: unknown[] }>(200, 'GET', workspaces);
  expect(page.items).toHaveLength(1);
  await server[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

const refused = (
  expected: readonly [number, string],
  says: string,
  path: string,
  options?: CallOptions,
): Promise<void> => expectRefused(server, expected, says, ['POST', path], options);

describe.for([
  ['glob', { pattern: '*' }],
  ['grep', { pattern: 'x' }],
  ['git', { action: 'status' }],
] as const)('%s', ([tool, good]) => {
  test('takes one JSON object and no parameters', async () => {
    const path = `${one}/${tool}`;
    await refused(unknown, 'query parameter', `${path}?x=1`, { json: good });
    await refused(invalid, 'expected', path, { json: [] });
    await refused(invalid, 'expected', path, { json: null });
    await refused([400, 'malformed_json'], 'not JSON', path, { body: '{', headers: json });
    await refused([415, 'unsupported_media_type'], 'Content-Type', path, { body: 'x' });
    await refused(unknown, 'shell', path, { json: { ...good, shell: true } });
    await refused(invalid, 'path: must not contain NUL', path, { json: { ...good, path: '\0' } });
    await refused(invalid, 'path: must not be empty', path, { json: { ...good, path: '' } });
  });

  test('wants an id that exists', async () => {
    await refused([400, 'bad_id'], 'UUID', `${workspaces}/7/${tool}`, { json: good });
    const nobody = `${workspaces}/${randomUUID()}/${tool}`;
    await refused([404, 'workspace_not_found'], 'there is no', nobody, { json: good });
  });
});

test.each([
  ['pattern: expected string', {}],
  ['pattern: must not be empty', { pattern: '' }],
  ['pattern: must not contain NUL', { pattern: 'a\0' }],
  ['pattern: must be well-formed', { pattern: '\ud800' }],
  ['pattern: must be at most 4096 bytes', { pattern: 'a'.repeat(4097) }],
  ['limit', { pattern: '*', limit: 0 }],
  ['limit', { pattern: '*', limit: 1001 }],
  ['limit', { pattern: '*', limit: '5' }],
  ['include_git_dir', { pattern: '*', include_git_dir: 'yes' }],
])('glob: %s', async (says, body) => {
  await refused(invalid, says, `${one}/glob`, { json: body });
});

test.each([
  ['pattern: must be at most 16384 bytes', { pattern: 'a'.repeat(16_385) }],
  ['include: must not be empty', { pattern: 'a', include: '' }],
  ['case_insensitive', { pattern: 'a', case_insensitive: 1 }],
  ['limit', { pattern: 'a', limit: 501 }],
])('grep: %s', async (says, body) => {
  await refused(invalid, says, `${one}/grep`, { json: body });
});

test('glob and grep without their program', async () => {
  const unsupported = [409, 'unsupported'] as const;
  await refused(unsupported, 'memory', `${one}/glob`, { json: { pattern: '*' } });
  await refused(unsupported, 'memory', `${one}/grep`, { json: { pattern: '*' } });
});

test.each([
  ['action', {}],
  ['action', { action: 'rebase' }],
  ['action', { action: 7 }],
  ['ref: is not a revision', { action: 'diff', ref: '--output=/etc/passwd' }],
  ['ref: is not a revision', { action: 'diff', ref: 'a b' }],
  ['files', { action: 'diff', files: 'a' }],
  ['files.0: must not be empty', { action: 'diff', files: [''] }],
  ['files', { action: 'diff', files: Array.from({ length: 257 }, () => 'a') }],
  ['message: expected string', { action: 'commit' }],
  ['message: must not be empty', { action: 'commit', message: '' }],
  ['author.email', { action: 'commit', message: 'm', author: { name: 'a' } }],
  ['author.name', { action: 'commit', message: 'm', author: { name: 'a\nb', email: 'c' } }],
  ['ref: is needed', { action: 'checkout' }],
  ['ref: is not a revision', { action: 'checkout', ref: '-f' }],
  ['create', { action: 'checkout', create: true, files: ['a'] }],
  ['start_point', { action: 'checkout', ref: 'a', start_point: 'b' }],
  ['remote', { action: 'pull', remote: '--upload-pack=x' }],
  ['remote', { action: 'pull', remote: 'ext::sh -c x' }],
  ['branch', { action: 'pull', branch: '-x' }],
  ['strategy', { action: 'pull', strategy: 'octopus' }],
  ['branch', { action: 'push', branch: '+a:b' }],
  ['force', { action: 'push', force: 'yes' }],
])('git: %s in %j', async (says, body) => {
  await refused(invalid, says, `${one}/git`, { json: body });
});

test('git: a field of another action', async () => {
  await refused(unknown, 'message', `${one}/git`, { json: { action: 'status', message: 'm' } });
});

test('git: what it refuses', async () => {
  const failed = [422, 'git_failed'] as const;
  await refused(failed, 'not a git repository', `${one}/git`, { json: { action: 'status' } });
});

test.each([
  ['repository_url: must be a URL', { repository_url: 'ext::sh -c x'.replaceAll(' ', '%20') }],
  ['repository_url: must not contain white space', { repository_url: 'https://a/b c' }],
  ['repository_url: expected string', { repository_url: 7 }],
  ['repository_url: must not be empty', { repository_url: '' }],
  ['branch: needs a repository_url', { branch: 'main' }],
  ['branch: is not a name', { repository_url: 'https://a/b', branch: '--upload-pack=x' }],
])('create: %s', async (says, body) => {
  await refused(invalid, says, workspaces, { json: body });
});
