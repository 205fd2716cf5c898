import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { EmergentError } from '../../src/domain/errors.ts';
import type { McpServer } from '../../src/domain/mcp.ts';
import { FakeClock } from '../support/clock.ts';
import { startMcpApi, registration, tokens } from './support/mcp-api.ts';
import type { McpApi } from './support/mcp-api.ts';
import { newClient, textOf } from './support/mcp-clients.ts';
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

function host(hosted: HostedProgram, on = api): McpServer {
  return on.mcp.add(registration(`server-${String(++names)}`), owner, hosted);
}

describe('a client of 2026-07-28', () => {
  test('discovers the program and calls it, without a session', async () => {
    await using one = await newClient(api.gatewayOf(server));
    const { client, transport } = one;
    expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28');
    expect(transport.sessionId).toBeUndefined();
    expect(client.getServerCapabilities()).toMatchObject({ tools: { listChanged: true } });
    expect(client.getInstructions()).toBe('be kind');
    const listed = await client.listTools();
    expect(listed.tools.map(({ name }) => name)).toContain('echo');
    expect(textOf(await client.callTool({ name: 'echo', arguments: { text: 'hello' } }))).toBe(
      'hello',
    );
    expect(await api.mcp.noted()).toMatchObject({ tool: 'echo', result: 'ok' });
  });

  test('loses nothing on the way: unknown fields, `_meta`, methods and errors', async () => {
    await using one = await newClient(api.gatewayOf(server));
    const meta = { 'test/given': [1, { two: null }] };
    const odd = await one.client.callTool({ name: 'odd', arguments: {}, _meta: meta });
    expect(odd).toMatchObject({ 'x-unknown': meta, _meta: { 'test/kept': 1 } });
    const strange = { method: 'test/strange', params: { deep: { er: true } } };
    expect(await one.client.request(strange, z.looseObject({}))).toMatchObject(strange);
    await expect(one.client.callTool({ name: 'refuse' })).rejects.toMatchObject({
      code: -32_602,
      message: expect.stringContaining('no such tool') as string,
      data: { tool: 'refuse' },
    });
    const results = [await api.mcp.noted(), await api.mcp.noted()];
    expect(results.map(({ result }) => result)).toEqual(['ok', 'error']);
  });

  test('hears of progress, and of log messages where it asks for them', async () => {
    const own = await legacyProgram();
    await using one = await newClient(api.gatewayOf(host(own)));
    const heard: unknown[] = [];
    const called = await one.client.callTool(
      { name: 'progress' },
      { onprogress: (progress) => heard.push(progress) },
    );
    expect(textOf(called)).toBe('done');
    expect(heard).toHaveLength(3);
    await one.client.callTool({
      name: 'echo',
      arguments: { text: 'x' },
      _meta: { 'io.modelcontextprotocol/logLevel': 'warning' },
    });
    expect(own.levels).toEqual(['warning']);
    api.mcp.notes.length = 0;
  });

  test('cancels a call by hanging up: the program is told', async () => {
    const own = await legacyProgram();
    await using one = await newClient(api.gatewayOf(host(own)));
    const cancel = new AbortController();
    const call = one.client.callTool({ name: 'wait' }, { signal: cancel.signal });
    await own.waiting;
    cancel.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
    await own.cancelled;
    expect(await api.mcp.noted()).toMatchObject({ tool: 'wait', result: 'client_closed' });
  });

  test('answers what a program of 2025 asks, round by round', async () => {
    let asked = 0;
    await using one = await newClient(api.gatewayOf(server), {
      capabilities: { sampling: {}, elicitation: {}, roots: {} },
      prepare: (client) => {
        client.setRequestHandler('sampling/createMessage', () => ({
          model: 'test',
          role: 'assistant' as const,
          content: { type: 'text' as const, text: 'forty-two' },
        }));
        client.setRequestHandler('elicitation/create', () => ({
          action: 'accept' as const,
          content: { word: `word-${String(++asked)}` },
        }));
        client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///here' }] }));
      },
    });
    expect(textOf(await one.client.callTool({ name: 'sample' }))).toContain('forty-two');
    expect(textOf(await one.client.callTool({ name: 'elicit' }))).toBe(
      'accept:word-1 accept:word-2',
    );
    expect(textOf(await one.client.callTool({ name: 'roots' }))).toBe('file:///here');
    for (const tool of ['sample', 'elicit', 'roots']) {
      expect(await api.mcp.noted()).toMatchObject({ tool, result: 'ok' });
    }
  });

  test('answers what a program of its own revision asks', async () => {
    const own = host(await modernProgram());
    await using one = await newClient(api.gatewayOf(own), {
      capabilities: { elicitation: {} },
      prepare: (client) => {
        client.setRequestHandler('elicitation/create', () => ({
          action: 'accept' as const,
          content: { name: 'Ada' },
        }));
      },
    });
    expect(textOf(await one.client.callTool({ name: 'greet' }))).toBe('hello Ada');
    expect(await api.mcp.noted()).toMatchObject({ tool: 'greet', result: 'ok' });
  });

  test('hears what is told to everybody, on a stream that it asks for', async () => {
    const own = await legacyProgram();
    const at = host(own);
    const heard = Promise.withResolvers<unknown>();
    const updated = Promise.withResolvers<unknown>();
    await using one = await newClient(api.gatewayOf(at), {
      prepare: (client) => {
        client.setNotificationHandler('notifications/tools/list_changed', heard.resolve);
        client.setNotificationHandler('notifications/resources/updated', updated.resolve);
      },
    });
    const listening = await one.client.listen({
      toolsListChanged: true,
      resourceSubscriptions: ['test://one'],
    });
    await own.server.sendToolListChanged();
    await heard.promise;
    await own.subscription;
    await own.server.sendResourceUpdated({ uri: 'test://one' });
    expect(await updated.promise).toMatchObject({ params: { uri: 'test://one' } });
    await listening.close();
  });

  test('is told why the server does not answer now', async () => {
    const at = api.mcp.add(
      registration('away'),
      owner,
      new EmergentError('mcp_unavailable', 'it crashed'),
    );
    await expect(newClient(api.gatewayOf(at))).rejects.toThrow('it crashed');
  });

  test('may also take a session, if it wants the older revision', async () => {
    await using one = await newClient(api.gatewayOf(server), {
      versionNegotiation: { mode: 'legacy' },
    });
    expect(one.transport.sessionId).toBeDefined();
    expect((await one.client.listTools()).tools).not.toEqual([]);
  });
});

describe('a call that waits for its client', () => {
  const envelope = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
  };

  async function post(on: McpApi, to: McpServer, params: object, token = 'the-admin') {
    const response = await fetch(on.gatewayOf(to), {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'elicit',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'elicit', _meta: envelope, ...params },
      }),
    });
    const text = await response.text();
    return JSON.parse(text.slice(text.indexOf('{'))) as {
      result?: { resultType: string; requestState: string; inputRequests: object };
      error?: { message: string };
    };
  }

  test('is gone on with by its own token only, and once', async () => {
    const at = api.mcp.add(registration('asker', { shared: true }), owner, await legacyProgram());
    const first = await post(api, at, {});
    expect(first.result).toMatchObject({
      resultType: 'input_required',
      inputRequests: { 'question-1': { method: 'elicitation/create' } },
    });
    const requestState = first.result?.requestState;
    const inputResponses = { 'question-1': { action: 'decline' } };
    const stranger = await post(api, at, { requestState, inputResponses }, 'an-agent');
    expect(stranger.error?.message).toContain('requestState');
    const second = await post(api, at, { requestState, inputResponses });
    expect(second.result).toMatchObject({ inputRequests: { 'question-2': {} } });
    const again = await post(api, at, { requestState, inputResponses });
    expect(again.error?.message).toContain('requestState');
    const last = await post(api, at, {
      requestState: second.result?.requestState,
      inputResponses: { 'question-2': { action: 'cancel' } },
    });
    expect(last.result).toMatchObject({
      content: [{ text: 'decline:undefined cancel:undefined' }],
    });
    expect(await api.mcp.noted()).toMatchObject({ tool: 'elicit', result: 'ok' });
  });

  test('is cancelled when the client does not come back', async () => {
    const clock = new FakeClock();
    await using timed = await startMcpApi({ clock });
    const at = host(await legacyProgram(), timed);
    const first = await post(timed, at, {});
    await clock.whenSleeping();
    await clock.advance(5 * 60_000);
    expect(await timed.mcp.noted()).toMatchObject({ tool: 'elicit', result: 'deadline_exceeded' });
    const late = await post(timed, at, { requestState: first.result?.requestState });
    expect(late.error?.message).toContain('requestState');
  });
});
