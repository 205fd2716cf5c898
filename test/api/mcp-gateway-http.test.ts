import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { McpServer as SdkServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { EmergentError } from '../../src/domain/errors.ts';
import type { McpServer } from '../../src/domain/mcp.ts';
import { startMcpApi, registration, tokens } from './support/mcp-api.ts';
import type { McpApi } from './support/mcp-api.ts';
import { sessionClient, textOf } from './support/mcp-clients.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const owner = tokens['the-admin']?.tokenId ?? '';
const transport = { kind: 'http', port: 8080, path: '/here' } as const;

let api: McpApi;
let upstream: Server;
let server: McpServer;
let handler: Handler;
let connections = 0;
beforeAll(async () => {
  api = await startMcpApi();
  upstream = createServer((request, response) => {
    handler(request, response);
  });
  upstream.on('connection', () => connections++);
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const { port } = upstream.address() as AddressInfo;
  server = api.mcp.add(registration('http', { transport }), owner, {
    path: '/here',
    port: 8080,
    dial: async () => {
      const socket = connect(port, '127.0.0.1');
      await once(socket, 'connect');
      return socket;
    },
  });
});
beforeEach(() => {
  connections = 0;
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  upstream.closeAllConnections();
  upstream.close();
});

type Sent = Omit<RequestInit, 'headers'> & { headers?: Record<string, string> };

function send(init: Sent = {}, query = ''): Promise<Response> {
  return fetch(`${api.gatewayOf(server).href}${query}`, {
    ...init,
    headers: { authorization: 'Bearer the-admin', ...init.headers },
  });
}

describe('a server that speaks HTTP itself', () => {
  test('is driven by a client of MCP', async () => {
    const inside = new SdkServer({ name: 'inside', version: '1' });
    inside.registerTool('echo', { inputSchema: { text: z.string() } }, ({ text }) => ({
      content: [{ type: 'text', text }],
    }));
    const spoken = new StreamableHTTPServerTransport({ sessionIdGenerator: () => 'its-own-id' });
    await inside.connect(spoken);
    handler = (request, response) => void spoken.handleRequest(request, response);
    await using session = await sessionClient(api.gatewayOf(server));
    expect(session.transport.sessionId).toBe('its-own-id');
    expect(textOf(await session.client.callTool({ name: 'echo', arguments: { text: 'x' } }))).toBe(
      'x',
    );
    expect(await api.mcp.noted()).toMatchObject({ tool: 'echo', result: 'ok' });
  });

  test('gets what is meant for it, and nothing of ours', async () => {
    const seen = Promise.withResolvers<IncomingMessage>();
    handler = (request, response) => {
      seen.resolve(request);
      response.writeHead(207, { 'x-of-its-own': 'yes', connection: 'x-hop', 'x-hop': 'no' });
      response.end('answered');
    };
    const answer = await send(
      { method: 'POST', body: '{"a":1}', headers: { 'mcp-session-id': 's', origin: api.url } },
      '?q=1',
    );
    const { headers, url } = await seen.promise;
    expect(url).toBe('/here?q=1');
    expect(headers).toMatchObject({ host: 'localhost:8080', 'mcp-session-id': 's' });
    expect(headers.authorization).toBeUndefined();
    expect(headers.origin).toBeUndefined();
    expect([answer.status, await answer.text()]).toEqual([207, 'answered']);
    expect(answer.headers.get('x-of-its-own')).toBe('yes');
    expect(answer.headers.get('x-hop')).toBeNull();
    expect(answer.headers.get('x-request-id')).toBeTruthy();
  });

  test('is reached over connections that are kept', async () => {
    handler = (_request, response) => response.end('ok');
    for (let turn = 0; turn < 5; turn++) expect(await (await send()).text()).toBe('ok');
    expect(connections).toBeLessThanOrEqual(1);
  });

  test('streams as it speaks, and hears when its client hangs up', async () => {
    const gone = Promise.withResolvers<void>();
    const open = Promise.withResolvers<ServerResponse>();
    handler = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: 1\n\n');
      response.once('close', () => {
        gone.resolve();
      });
      open.resolve(response);
    };
    const hangUp = new AbortController();
    const answer = await send({ signal: hangUp.signal });
    const reader = answer.body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('data: 1\n\n');
    (await open.promise).write('data: 2\n\n');
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('data: 2\n\n');
    hangUp.abort();
    await gone.promise;
  });

  test('that breaks off, or is not there, is an error of the gateway', async () => {
    handler = (request) => request.socket.destroy();
    const broken = await send({ method: 'POST', body: '{}' });
    expect(broken.status).toBe(502);
    expect(await broken.json()).toMatchObject({ error: { code: 'mcp_failed' } });
    const closed = api.mcp.add(registration('closed', { transport }), owner, {
      ...transport,
      dial: () => Promise.reject(new EmergentError('port_closed', 'nothing listens on 8080')),
    });
    const refused = await fetch(api.gatewayOf(closed), {
      headers: { authorization: 'Bearer the-admin' },
    });
    expect(refused.status).toBe(502);
    expect(await refused.json()).toMatchObject({ error: { code: 'port_closed' } });
    api.mcp.replace(closed.workspace.id, new EmergentError('mcp_unavailable', 'it waits'));
    const away = await fetch(api.gatewayOf(closed), {
      headers: { authorization: 'Bearer the-admin' },
    });
    expect(away.status).toBe(503);
  });
});
