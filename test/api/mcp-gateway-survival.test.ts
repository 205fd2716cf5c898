import {
  CreateMessageRequestSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EmergentError } from '../../src/domain/errors.ts';
import type { McpServer } from '../../src/domain/mcp.ts';
import { startMcpApi, registration, tokens } from './support/mcp-api.ts';
import type { McpApi } from './support/mcp-api.ts';
import { sessionClient, textOf } from './support/mcp-clients.ts';
import { legacyProgram } from './support/mcp-program.ts';
import type { HostedProgram, LegacyProgram } from './support/mcp-program.ts';
import { rawSession } from './support/mcp-raw-session.ts';

const owner = tokens['the-admin']?.tokenId ?? '';
const sessionKey = randomBytes(32);
let names = 0;

let api: McpApi;
let program: LegacyProgram;
let server: McpServer;
beforeAll(async () => {
  api = await startMcpApi({ sessionKey });
  program = await legacyProgram();
  server = host(program);
});
afterAll(() => api[Symbol.asyncDispose]());

function host(hosted: HostedProgram): McpServer {
  return api.mcp.add(registration(`server-${String(++names)}`), owner, hosted);
}

describe('a session', () => {
  test('survives a restart of the server that holds it', async () => {
    const mcp = api.mcp;
    const first = await startMcpApi({ sessionKey, mcp });
    await using session = await sessionClient(first.gatewayOf(server), {
      capabilities: { sampling: {} },
      prepare: (client) => {
        client.setRequestHandler(CreateMessageRequestSchema, () => ({
          model: 'test',
          role: 'assistant' as const,
          content: { type: 'text' as const, text: 'still me' },
        }));
      },
    });
    await session.client.listTools();
    const { sessionId } = session.transport;
    await first[Symbol.asyncDispose]();
    await using second = await startMcpApi({ sessionKey, mcp });
    // The client knows its server by the address, so the second takes over what the first would have been sent.
    const again = rawSession(second, server, sessionId ?? '');
    expect(again.sessionId).toBe(sessionId);
    expect(await again.call('tools/list')).toMatchObject({
      result: { 'x-unknown': { kept: true } },
    });
    expect(second.recorded.entries().filter(({ level }) => level === 'error')).toEqual([]);
  });

  test('survives a restart of the program, and says so where it has changed', async () => {
    const own = await legacyProgram();
    const at = host(own);
    const changed = Promise.withResolvers<unknown>();
    await using session = await sessionClient(api.gatewayOf(at), {
      prepare: (client) => {
        client.setNotificationHandler(ToolListChangedNotificationSchema, changed.resolve);
      },
    });
    await session.client.setLoggingLevel('debug');
    await session.client.subscribeResource({ uri: 'test://kept' });
    const next = await legacyProgram('another-program');
    api.mcp.replace(at.workspace.id, next);
    own.end();
    await changed.promise;
    expect(textOf(await session.client.callTool({ name: 'echo', arguments: { text: 'x' } }))).toBe(
      'x',
    );
    expect([next.levels, next.subscribed]).toEqual([['debug'], ['test://kept']]);
    await api.mcp.noted();
  });

  test('is told why its server does not answer now', async () => {
    const own = await legacyProgram();
    const at = host(own);
    await using session = await sessionClient(api.gatewayOf(at));
    own.end();
    api.mcp.replace(at.workspace.id, new EmergentError('mcp_unavailable', 'it crashed too often'));
    await expect(session.client.listTools()).rejects.toMatchObject({
      code: -32_000,
      message: expect.stringContaining('it crashed too often') as string,
    });
    await expect(sessionClient(api.gatewayOf(at))).rejects.toThrow('it crashed too often');
    api.mcp.replace(at.workspace.id, await legacyProgram());
    expect((await session.client.listTools()).tools).not.toEqual([]);
  });

  test('ends when its client says so, and stays ended', async () => {
    await using session = await sessionClient(api.gatewayOf(server));
    const id = session.transport.sessionId ?? '';
    await session.transport.terminateSession();
    const raw = rawSession(api, server, id);
    expect((await raw.send('tools/list')).status).toBe(404);
  });

  test('ends with its server', async () => {
    const at = host(await legacyProgram());
    const ended = Promise.withResolvers<void>();
    await using session = await sessionClient(api.gatewayOf(at));
    const response = await fetch(api.gatewayOf(at), {
      headers: {
        authorization: 'Bearer the-admin',
        accept: 'text/event-stream',
        'mcp-session-id': session.transport.sessionId ?? '',
      },
    });
    void response.text().then(() => {
      ended.resolve();
    });
    await api.admin.json(200, 'DELETE', `/api/v1/mcp/servers/${at.config.name}`);
    await ended.promise;
    expect(session.transport.sessionId).toBeDefined();
    await expect(session.client.listTools()).rejects.toThrow('mcp_server_not_found');
  });

  test('ends its streams at once when the server closes', async () => {
    const closing = await startMcpApi({ mcp: api.mcp });
    const own = closing.gatewayOf(server);
    await using session = await sessionClient(own);
    await session.client.listTools();
    const { sessionId = '' } = session.transport;
    const response = await fetch(own, {
      headers: {
        authorization: 'Bearer the-admin',
        accept: 'text/event-stream',
        'mcp-session-id': sessionId,
      },
    });
    const [, text] = await Promise.all([closing.app.close(), response.text()]);
    expect(text).toBe('');
  });
});

describe('an id of a session', () => {
  test('opens nothing to another token, for another server, or when it was made up', async () => {
    const shared = registration('shared', { shared: true });
    const open = api.mcp.add(shared, owner, program);
    await using session = await sessionClient(api.gatewayOf(open));
    const { sessionId = '' } = session.transport;
    const own = rawSession(api, open, sessionId);
    expect((await own.send('tools/list')).status).toBe(200);
    expect((await own.send('tools/list', 'an-agent')).status).toBe(404);
    expect((await rawSession(api, server, sessionId).send('tools/list')).status).toBe(404);
    for (const id of ['made-up', `${sessionId.slice(0, -2)}xx`, 'a'.repeat(60)]) {
      const answer = await rawSession(api, open, id).send('tools/list');
      expect(answer.status).toBe(404);
      expect(await answer.json()).toMatchObject({ error: { code: 'not_found' } });
    }
    await using elsewhere = await startMcpApi({ mcp: api.mcp, sessionKey: randomBytes(32) });
    expect((await rawSession(elsewhere, open, sessionId).send('tools/list')).status).toBe(404);
    await using again = await startMcpApi({ mcp: api.mcp, sessionKey });
    expect((await rawSession(again, open, sessionId).send('tools/list', 'an-agent')).status).toBe(
      404,
    );
    expect((await rawSession(again, open, sessionId).send('tools/list')).status).toBe(200);
  });
});
