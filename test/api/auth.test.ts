import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newSecret } from '../../src/domain/token.ts';
import { openTestStore, startServer } from './support/server.ts';
import type { TestServer, TestStore } from './support/server.ts';

const tokens = '/api/v1/tokens';

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

describe('the bearer token', () => {
  test('is needed everywhere but on /healthz', async () => {
    const nobody = server.admin.as(undefined);
    for (const [path, methods] of Object.entries(server.document.paths)) {
      for (const method of Object.keys(methods)) {
        const url = path.replaceAll('{id}', randomUUID()).replaceAll('{pid}', '1');
        const answer = await nobody.call(method.toUpperCase(), url);
        expect(answer.status, `${method} ${path}`).toBe(path === '/healthz' ? 200 : 401);
      }
    }
    await nobody.error(401, 'GET', '/api/v1/no/such/path');
    await nobody.error(401, 'GET', '/');
  });

  test.each([
    ['none', {}],
    ['another scheme', { authorization: 'Basic YTpi' }],
    ['an empty one', { authorization: 'Bearer ' }],
    ['a wrong one', { authorization: `Bearer ${newSecret()}` }],
    ['two words', { authorization: 'Bearer a b' }],
  ])('%s: 401, with how to mend it', async (_name, headers) => {
    const nobody = server.admin.as(undefined);
    const answer = await nobody.call('GET', tokens, { headers });
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    expect(JSON.parse(answer.text)).toMatchObject({
      error: { code: 'unauthenticated', hint: expect.stringContaining('Bearer') as string },
    });
  });

  test('is checked before the body: a wrong body makes no difference', async () => {
    const headers = { 'content-type': 'application/json' };
    await server.admin.as('wrong').error(401, 'POST', tokens, { body: '{', headers });
  });

  test('the scheme is not case-sensitive', async () => {
    const headers = { authorization: `bearer ${server.admin.token ?? ''}` };
    await server.admin.as(undefined).json(200, 'GET', tokens, { headers });
  });
});

describe('tokens', () => {
  test('one is created, listed without its secret, used, revoked and then refused', async () => {
    const created = await server.admin.json<Record<string, string>>(201, 'POST', tokens, {
      json: { name: 'CI', role: 'agent' },
    });
    expect(created).toMatchObject({ name: 'CI', role: 'agent' });
    const { id = '', token = '' } = created;
    const agent = server.admin.as(token);
    await agent.json(200, 'GET', '/api/v1/agent/workspaces');

    const list = await server.admin.call('GET', tokens);
    expect(list.text).toContain(id);
    expect(list.text).not.toContain(token);

    expect((await server.admin.call('DELETE', `${tokens}/${id}`)).status).toBe(204);
    await agent.error(401, 'GET', '/api/v1/agent/workspaces');
    const again = await server.admin.error(404, 'DELETE', `${tokens}/${id}`);
    expect(again.code).toBe('token_not_found');
  });

  test('an agent may not manage them', async () => {
    const agent = await server.newClient('agent');
    const json = { name: 'mine', role: 'admin' };
    const refused = [
      await agent.error(403, 'POST', tokens, { json }),
      await agent.error(403, 'GET', tokens),
      await agent.error(403, 'DELETE', `${tokens}/${randomUUID()}`),
    ];
    expect(refused.map(({ code }) => code)).toEqual(['forbidden', 'forbidden', 'forbidden']);
  });

  test('a second admin may revoke the first, nobody itself', async () => {
    const { id, token } = await server.admin.json<{ id: string; token: string }>(
      201,
      'POST',
      tokens,
      {
        json: { name: 'second', role: 'admin' },
      },
    );
    const error = await server.admin.as(token).error(422, 'DELETE', `${tokens}/${id}`);
    expect(error.message).toContain('itself');
    expect((await server.admin.call('DELETE', `${tokens}/${id}`)).status).toBe(204);
  });
});

test('nothing secret is in the log', () => {
  const log = server.recorded.lines.join('');
  expect(log).toContain('"msg":"request"');
  expect(log).not.toMatch(/emt_[0-9a-f]/);
  expect(log.toLowerCase()).not.toContain('bearer ');
});
