import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { McpServer } from '../../src/domain/mcp.ts';
import { startMcpApi, registration, tokens } from './support/mcp-api.ts';
import type { McpApi } from './support/mcp-api.ts';
import { sessionClient, textOf } from './support/mcp-clients.ts';
import { modernProgram } from './support/mcp-modern-program.ts';
import { legacyProgram } from './support/mcp-program.ts';
import type { HostedProgram, LegacyProgram } from './support/mcp-program.ts';

const owner = tokens['the-admin']?.tokenId ?? '';
let names = 0;

let api: McpApi;
let program: LegacyProgram;
let server: McpServer;
beforeAll(async () => {
  api = await startMcpApi();
  program = await legacyProgram();
  server = host(program);
});
afterAll(() => api[Symbol.asyncDispose]());

function host(hosted: HostedProgram): McpServer {
  return api.mcp.add(registration(`server-${String(++names)}`), owner, hosted);
}

describe('a client of 2025', () => {
  test('sees the program as if it spoke to it directly', async () => {
    await using session = await sessionClient(api.gatewayOf(server));
    const { client } = session;
    const { introduction } = program.bridge;
    expect(client.getServerVersion()).toEqual(introduction.serverInfo);
    expect(client.getServerCapabilities()).toEqual(introduction.capabilities);
    expect(client.getInstructions()).toBe('be kind');
    const listed = await client.listTools();
    expect(listed.tools.map(({ name }) => name)).toContain('echo');
    expect(textOf(await client.callTool({ name: 'echo', arguments: { text: 'hello' } }))).toBe(
      'hello',
    );
    expect(await api.mcp.noted()).toMatchObject({ tool: 'echo', result: 'ok' });
    await client.ping();
  });

  test('loses nothing on the way: unknown fields, `_meta`, methods and errors', async () => {
    await using session = await sessionClient(api.gatewayOf(server));
    const { client } = session;
    expect(await client.listTools()).toMatchObject({ 'x-unknown': { kept: true } });
    const meta = { 'test/given': [1, { two: null }] };
    const odd = await client.callTool({ name: 'odd', arguments: {}, _meta: meta });
    expect(odd).toMatchObject({ 'x-unknown': meta, _meta: { 'test/kept': 1 } });
    expect(await client.callTool({ name: 'fail' })).toMatchObject({ isError: true });
    const strange = { method: 'test/strange', params: { deep: { er: true } } };
    expect(await client.request(strange, z.looseObject({}))).toMatchObject(strange);
    await expect(client.callTool({ name: 'refuse' })).rejects.toMatchObject({
      code: -32_602,
      data: { tool: 'refuse' },
    });
    const results = [await api.mcp.noted(), await api.mcp.noted(), await api.mcp.noted()];
    expect(results.map(({ result }) => result)).toEqual(['ok', 'error', 'error']);
  });

  test('hears of progress under its own token', async () => {
    await using session = await sessionClient(api.gatewayOf(server));
    const heard: unknown[] = [];
    const called = await session.client.callTool({ name: 'progress' }, undefined, {
      onprogress: (progress) => heard.push(progress),
    });
    expect(textOf(called)).toBe('done');
    expect(heard).toEqual(
      [1, 2, 3].map((progress) => ({ progress, total: 3, message: `step ${String(progress)}` })),
    );
    await api.mcp.noted();
  });

  test('cancels a call: the program is told', async () => {
    const own = await legacyProgram();
    await using session = await sessionClient(api.gatewayOf(host(own)));
    const cancel = new AbortController();
    const call = session.client.callTool({ name: 'wait' }, undefined, { signal: cancel.signal });
    await own.waiting;
    cancel.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
    await own.cancelled;
    expect(await api.mcp.noted()).toMatchObject({ tool: 'wait', result: 'client_closed' });
    expect(textOf(await session.client.callTool({ name: 'echo', arguments: { text: 'on' } }))).toBe(
      'on',
    );
    await api.mcp.noted();
  });

  test('answers what the program asks', async () => {
    const capabilities = { sampling: {}, elicitation: {}, roots: {} };
    let asked = 0;
    await using session = await sessionClient(api.gatewayOf(server), {
      capabilities,
      prepare: (client) => {
        client.setRequestHandler(CreateMessageRequestSchema, () => ({
          model: 'test',
          role: 'assistant' as const,
          content: { type: 'text' as const, text: 'forty-two' },
        }));
        client.setRequestHandler(ElicitRequestSchema, () => ({
          action: 'accept' as const,
          content: { word: `word-${String(++asked)}` },
        }));
        client.setRequestHandler(ListRootsRequestSchema, () => ({
          roots: [{ uri: 'file:///here' }],
        }));
      },
    });
    expect(textOf(await session.client.callTool({ name: 'sample' }))).toContain('forty-two');
    expect(textOf(await session.client.callTool({ name: 'elicit' }))).toBe(
      'accept:word-1 accept:word-2',
    );
    expect(textOf(await session.client.callTool({ name: 'roots' }))).toBe('file:///here');
    for (const tool of ['sample', 'elicit', 'roots']) {
      expect(await api.mcp.noted()).toMatchObject({ tool, result: 'ok' });
    }
  });

  test('hears what is told to everybody', async () => {
    const own = await legacyProgram();
    const heard = {
      log: Promise.withResolvers<unknown>(),
      list: Promise.withResolvers<unknown>(),
      updated: Promise.withResolvers<unknown>(),
    };
    await using session = await sessionClient(api.gatewayOf(host(own)), {
      prepare: (client) => {
        client.setNotificationHandler(LoggingMessageNotificationSchema, heard.log.resolve);
        client.setNotificationHandler(ToolListChangedNotificationSchema, heard.list.resolve);
        client.setNotificationHandler(ResourceUpdatedNotificationSchema, heard.updated.resolve);
      },
    });
    await session.client.setLoggingLevel('warning');
    expect(own.levels).toEqual(['warning']);
    await session.client.subscribeResource({ uri: 'test://one' });
    expect(own.subscribed).toEqual(['test://one']);
    await session.listening;
    await own.server.sendLoggingMessage({ level: 'error', data: 'trouble' });
    await own.server.sendToolListChanged();
    await own.server.sendResourceUpdated({ uri: 'test://one' });
    expect(await heard.log.promise).toMatchObject({ params: { data: 'trouble' } });
    expect(await heard.updated.promise).toMatchObject({ params: { uri: 'test://one' } });
    await heard.list.promise;
  });

  test('is asked by a program of 2026-07-28 in the way that it knows', async () => {
    const own = host(await modernProgram());
    await using session = await sessionClient(api.gatewayOf(own), {
      capabilities: { elicitation: {} },
      prepare: (client) => {
        client.setRequestHandler(ElicitRequestSchema, () => ({
          action: 'accept' as const,
          content: { name: 'Ada' },
        }));
      },
    });
    expect(textOf(await session.client.callTool({ name: 'greet' }))).toBe('hello Ada');
    expect(await api.mcp.noted()).toMatchObject({ tool: 'greet', result: 'ok' });
  });

  test('fifty at once are each answered with their own', async () => {
    const sessions = await Promise.all(
      Array.from({ length: 50 }, () => sessionClient(api.gatewayOf(server))),
    );
    const answers = await Promise.all(
      sessions.flatMap(({ client }, number) =>
        ['a', 'b', 'c'].map(async (letter) => {
          const text = `${String(number)}${letter}`;
          const answer = await client.callTool({ name: 'echo', arguments: { text } });
          return textOf(answer) === text;
        }),
      ),
    );
    expect(answers).toHaveLength(150);
    expect(answers.every(Boolean)).toBe(true);
    await Promise.all(sessions.map(({ client }) => client.close()));
    api.mcp.notes.length = 0;
  });
});
