import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import type { Client } from './support/client.ts';
import { openTestStore, startServer } from './support/server.ts';
import type { TestServer, TestStore } from './support/server.ts';

let store: TestStore;
let server: TestServer;
let agent: Client;
let id: string;
beforeAll(async () => {
  store = await openTestStore();
  server = await startServer(store);
  agent = await server.newClient('agent');
  id = await server.newWorkspace(agent);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

const accept = 'application/json, text/event-stream';
const places = ['/api/v1/mcp', '/api/v1/agent/workspaces/{id}/mcp'];

function initialize(protocolVersion = '2025-11-25'): object {
  const clientInfo = { name: 'a test', version: '1.0.0' };
  const params = { protocolVersion, capabilities: {}, clientInfo };
  return { jsonrpc: '2.0', id: 0, method: 'initialize', params };
}

function call(name: string, args: object, requestId = 1): object {
  const params = { name, arguments: args, _meta: { progressToken: requestId } };
  return { jsonrpc: '2.0', id: requestId, method: 'tools/call', params };
}

interface Posted {
  readonly session?: string;
  readonly origin?: string;
}

function post(client: Client, path: string, json: unknown, posted: Posted = {}): Promise<Response> {
  const { session, origin } = posted;
  return client.fetch('POST', path, {
    json,
    headers: {
      accept,
      ...(session !== undefined && { 'mcp-session-id': session }),
      ...(origin !== undefined && { origin }),
    },
  });
}

describe.each(places)('%s', (template) => {
  const path = (): string => template.replace('{id}', id);

  test('introduces itself, with a session of its own each time', async () => {
    const sessions = new Set<string | null>();
    for (const version of ['2025-11-25', '2025-03-26']) {
      const response = await post(agent, path(), initialize(version));
      expect(response.status).toBe(200);
      expect(await response.text()).toContain(`"protocolVersion":"${version}"`);
      sessions.add(response.headers.get('mcp-session-id'));
    }
    expect(sessions.size).toBe(2);
    expect(sessions).not.toContain(null);
  });

  test('needs a token', async () => {
    const response = await post(agent.as(undefined), path(), initialize());
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe('Bearer');
  });

  test('refuses pages of other sites', async () => {
    const refused = await post(agent, path(), initialize(), { origin: 'https://evil.example' });
    expect(refused.status).toBe(403);
    const own = await post(agent, path(), initialize(), { origin: 'http://localhost:7700' });
    expect(own.status).toBe(200);
  });

  test('refuses what is too large, or no JSON', async () => {
    const large = await post(agent, path(), call('write', { content: 'x'.repeat(2 ** 20) }));
    expect(large.status).toBe(413);
    const broken = await agent.error(400, 'POST', path(), {
      body: '{',
      headers: { accept, 'content-type': 'application/json' },
    });
    expect(broken.code).toBe('malformed_json');
  });

  test('answers what is no MCP in the words of JSON-RPC', async () => {
    const response = await post(agent, path(), { tea: true });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ jsonrpc: '2.0', error: { code: -32_600 } });
  });

  test('tells people what it is, and clients that it has no stream of its own', async () => {
    const about = await agent.json<{ tools: readonly object[] }>(200, 'GET', path());
    expect(about).toMatchObject({ name: 'emergent-workspaces', transport: 'streamable-http' });
    expect(about.tools.length).toBeGreaterThan(10);
    const headers = { accept: 'text/event-stream' };
    const refused = await agent.call('GET', path(), { headers });
    expect(refused.status).toBe(405);
    expect(refused.headers.get('allow')).toBe('POST, DELETE');
  });
});

test("there is no endpoint at a workspace that is gone, or somebody else's", async () => {
  const other = await server.newClient('agent');
  const path = `/api/v1/agent/workspaces/${id}/mcp`;
  for (const method of ['POST', 'GET', 'DELETE']) {
    const json = method === 'POST' ? { json: initialize() } : {};
    const error = await other.error(404, method, path, json);
    expect(error.code).toBe('workspace_not_found');
  }
  const wrong = await agent.error(400, 'POST', '/api/v1/agent/workspaces/tea/mcp', { json: {} });
  expect(wrong.code).toBe('bad_id');
});

/** A command that runs until it is ended, and the stream that its caller reads. */
async function running(session: string): Promise<{ text: Promise<string> }> {
  const command = 'echo begun; sleep 1000';
  const path = `/api/v1/agent/workspaces/${id}/mcp`;
  const response = await post(agent, path, call('bash', { command }), { session });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const next = async (): Promise<boolean> => {
    const read = await reader?.read();
    text += read?.value ?? '';
    return read?.done === false;
  };
  while (!text.includes('begun')) await next();
  const rest = async (): Promise<string> => {
    while (await next());
    return text;
  };
  return { text: rest() };
}

function cancel(session: string, by = agent, requestId: unknown = 1): Promise<Response> {
  const path = `/api/v1/agent/workspaces/${id}/mcp`;
  const method = 'notifications/cancelled';
  return post(by, path, { jsonrpc: '2.0', method, params: { requestId } }, { session });
}

test('a call is cancelled in its own session only, and its stream ends without an answer', async () => {
  const { text } = await running('mine');
  const other = await server.newClient('admin');
  for (const response of [
    await cancel('another'),
    await cancel('mine', other),
    await cancel('mine', agent, '1'),
    await cancel('mine', agent, null),
  ]) {
    expect(response.status).toBe(202);
  }
  expect(server.engine.operationsInFlight).toBe(1);
  expect((await cancel('mine')).status).toBe(202);
  expect(await text).not.toContain('"result"');
  await eventually(() => {
    expect(server.engine.operationsInFlight).toBe(0);
  });
  // It is over: nothing is left to cancel.
  expect((await cancel('mine')).status).toBe(202);
});

test('ending a session ends its calls', async () => {
  const mine = await running('mine');
  const path = `/api/v1/agent/workspaces/${id}/mcp`;
  const headers = { 'mcp-session-id': 'mine' };
  expect((await agent.call('DELETE', path, { headers })).status).toBe(204);
  await mine.text;
  await eventually(() => {
    expect(server.engine.operationsInFlight).toBe(0);
  });
});

test('a closing server lets calls go on to their end', async () => {
  await using closing = await startServer(store);
  const path = `/api/v1/agent/workspaces/${id}/mcp`;
  const { admin } = closing;
  const ready = await post(admin, path, call('bash', { command: 'rm -f gate; mkfifo gate' }));
  await ready.text();
  const command = 'echo begun; cat gate';
  const running = await post(admin, path, call('bash', { command }));
  const closed = closing.app.close();
  // By the other server, since this one takes nothing new.
  const opened = await post(agent, path, call('bash', { command: 'echo go > gate' }));
  await opened.text();
  expect(await running.text()).toContain('begun\\ngo\\n');
  await closed;
});
