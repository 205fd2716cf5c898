import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { McpServer } from '../../src/domain/mcp.ts';
import { startMcpApi, registration, tokens } from './support/mcp-api.ts';
import type { McpApi } from './support/mcp-api.ts';
import { sessionClient } from './support/mcp-clients.ts';
import { legacyProgram } from './support/mcp-program.ts';

const owner = tokens['an-agent']?.tokenId ?? '';

let api: McpApi;
let server: McpServer;
beforeAll(async () => {
  api = await startMcpApi();
  server = api.mcp.add(registration('edges'), owner, await legacyProgram());
});
afterAll(() => api[Symbol.asyncDispose]());

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'raw', version: '1' },
  },
};

function send(
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
  method = 'POST',
): Promise<Response> {
  return fetch(api.gatewayOf(server), {
    method,
    headers: {
      authorization: 'Bearer the-admin',
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...headers,
    },
    ...(method === 'POST' && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
}

async function errorOf(response: Response): Promise<unknown> {
  return ((await response.json()) as { error: { code: unknown } }).error.code;
}

describe('the gateway refuses', () => {
  test('a wrong token, as everywhere', async () => {
    const answer = await send(initialize, { authorization: 'Bearer nobody' });
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    await expect(sessionClient(api.gatewayOf(server), { token: 'nobody' })).rejects.toThrow();
  });

  test('a server that is not the caller’s to use, as if there were none', async () => {
    const answer = await send(initialize, { authorization: 'Bearer another-agent' });
    expect([answer.status, await errorOf(answer)]).toEqual([404, 'mcp_server_not_found']);
  });

  test('what a page of another site sends', async () => {
    for (const origin of [
      'https://evil.example',
      'null',
      'nonsense',
      'http://127.0.0.1.evil.example',
    ]) {
      const answer = await send(initialize, { origin });
      expect([origin, answer.status, await errorOf(answer)]).toEqual([origin, 403, 'forbidden']);
    }
    for (const origin of ['http://localhost:6274', `http://127.0.0.1:${String(api.port)}`]) {
      expect((await send(initialize, { origin })).status).toBe(200);
    }
  });

  test('a body that is too large, and goes on', async () => {
    const huge = {
      ...initialize,
      params: { ...initialize.params, padding: 'x'.repeat(4 * 2 ** 20) },
    };
    const answer = await send(huge);
    expect([answer.status, await errorOf(answer)]).toEqual([413, 'body_too_large']);
    expect((await send(initialize)).status).toBe(200);
  });

  test('what is no message', async () => {
    expect(await errorOf(await send('{'))).toBe(-32_700);
    expect(await errorOf(await send([]))).toBe(-32_600);
    expect((await send({ hello: 'there' })).status).toBe(400);
    expect((await send(initialize, { 'content-type': 'text/plain' })).status).toBe(415);
    expect((await send(initialize, { accept: 'application/json' })).status).toBe(406);
  });

  test('what needs a session and has none', async () => {
    expect((await send({ jsonrpc: '2.0', id: 1, method: 'tools/list' })).status).toBe(400);
    expect((await send(undefined, {}, 'GET')).status).toBe(400);
    expect((await send(undefined, {}, 'DELETE')).status).toBe(400);
    const unknown = await send(undefined, { 'mcp-session-id': 'nothing' }, 'DELETE');
    expect([unknown.status, await errorOf(unknown)]).toEqual([404, 'not_found']);
  });

  test('a revision that nobody speaks', async () => {
    const opened = await send(initialize);
    const id = opened.headers.get('mcp-session-id') ?? '';
    await opened.text();
    const headers = { 'mcp-session-id': id, 'mcp-protocol-version': '1999-01-01' };
    expect((await send({ jsonrpc: '2.0', id: 2, method: 'ping' }, headers)).status).toBe(400);
    const newest = { ...initialize.params, protocolVersion: '2999-01-01' };
    const text = await (await send({ ...initialize, params: newest })).text();
    expect(text).toContain('"protocolVersion":"2025-11-25"');
  });
});

test('a client that comes to listen again replaces the stream that it had', async () => {
  const opened = await send(initialize);
  const headers = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
  await opened.text();
  const first = await send(undefined, headers, 'GET');
  const second = await send(undefined, headers, 'GET');
  expect([first.status, second.status]).toEqual([200, 200]);
  expect(await first.text()).toBe('');
  await second.body?.cancel();
});

test('a server is found by its name too', async () => {
  const answer = await fetch(`${api.url}/api/v1/mcp/servers/edges/mcp`, {
    method: 'POST',
    headers: {
      authorization: 'Bearer an-agent',
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    },
    body: JSON.stringify(initialize),
  });
  expect(answer.status).toBe(200);
});
