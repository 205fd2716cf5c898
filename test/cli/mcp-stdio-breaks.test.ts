import { json } from 'node:stream/consumers';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { useTool } from '../api/support/mcp.ts';
import { eventually } from '../support/eventually.ts';
import { connectByStdio } from './support/mcp-stdio.ts';
import { ScriptedServer } from './support/scripted-server.ts';

interface Message {
  readonly id?: number | string;
  readonly method?: string;
}

interface Exchange {
  readonly message: Message;
  readonly session: string | undefined;
  readonly response: ServerResponse;
}

function answer({ message, response }: Exchange, result: object, headers: object = {}): void {
  response.writeHead(200, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }));
}

function refuse({ response }: Exchange, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** The beginning of a stream that never gets to its answer. */
function breakOff({ response }: Exchange): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(': still here\n\n', () => {
    response.destroy();
  });
}

const introduction = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: {} },
  serverInfo: { name: 'scripted', version: '1.0.0' },
};

/** A server that introduces itself, and leaves the rest to `script`; notes every message but the notifications. */
async function scripted(
  script: (exchange: Exchange) => void,
): Promise<{ server: ScriptedServer; seen: string[] }> {
  const seen: string[] = [];
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method !== 'POST') {
      response.writeHead(405).end();
      return;
    }
    const message = (await json(request)) as Message;
    const header = request.headers['mcp-session-id'];
    const session = typeof header === 'string' ? header : undefined;
    const exchange = { message, session, response };
    if (message.id === undefined) {
      response.writeHead(202).end();
      return;
    }
    seen.push(`${message.method ?? ''} ${session ?? 'new'}`);
    if (message.method !== 'initialize') script(exchange);
    else answer(exchange, introduction, { 'mcp-session-id': `session-${String(seen.length)}` });
  };
  const server = await ScriptedServer.start((request, response) => void take(request, response));
  return { server, seen };
}

const breaks = [
  ['before', ({ response }: Exchange) => response.destroy()],
  ['in the middle of', breakOff],
] as const;

test.each(breaks)(
  'a call that is lost %s its answer fails, and is not made twice',
  async (_, broken) => {
    const { server, seen } = await scripted(broken);
    await using _server = server;
    await using connected = await connectByStdio('v1, 2025-11-25', server.env);
    await expect(useTool(connected.client, 'pay')).rejects.toThrow(/connection to .* was lost/);
    expect(seen).toEqual(['initialize new', 'tools/call session-1']);
    await eventually(() => {
      expect(connected.stderr()).toContain('was lost');
    });
  },
);

test('what only asks is asked again', async () => {
  let asked = 0;
  const { server, seen } = await scripted((exchange) => {
    asked += 1;
    if (asked === 1) breakOff(exchange);
    else if (asked === 2) exchange.response.destroy();
    else answer(exchange, { tools: [] });
  });
  await using _server = server;
  await using connected = await connectByStdio('v1, 2025-11-25', server.env);
  expect(await connected.client.listTools()).toMatchObject({ tools: [] });
  expect(seen.slice(1)).toEqual(Array(3).fill('tools/list session-1'));
});

test('a server that says "not now" is asked again', async () => {
  let asked = 0;
  const { server, seen } = await scripted((exchange) => {
    asked += 1;
    const error = { code: 'shutting_down', message: 'the server is stopping', hint: 'Later.' };
    if (asked === 1) refuse(exchange, 503, { error });
    else answer(exchange, { content: [{ type: 'text', text: 'paid' }] });
  });
  await using _server = server;
  await using connected = await connectByStdio('v1, 2025-11-25', server.env);
  expect((await useTool(connected.client, 'pay')).text).toBe('paid');
  expect(seen).toHaveLength(3);
  await eventually(() => {
    expect(connected.stderr()).toMatch(/stopping; trying again\n.*connected again/);
  });
});

test('a session that the server does not know any more is begun anew', async () => {
  const { server, seen } = await scripted((exchange) => {
    const error = { code: -32_001, message: 'Session not found' };
    if (exchange.session === 'session-1') {
      refuse(exchange, 404, { jsonrpc: '2.0', id: null, error });
    } else answer(exchange, { content: [{ type: 'text', text: exchange.session }] });
  });
  await using _server = server;
  await using connected = await connectByStdio('v1, 2025-11-25', server.env);
  const answers = await Promise.all([1, 2].map(() => useTool(connected.client, 'pay')));
  const sessions = new Set(answers.map(({ text }) => text));
  expect(sessions.size).toBe(1);
  expect(seen.filter((line) => line.startsWith('initialize'))).toHaveLength(2);
  expect((await useTool(connected.client, 'pay')).text).toBe([...sessions][0]);
});

test('a refusal is told with its reason', async () => {
  const { server, seen } = await scripted((exchange) => {
    const error = { code: 'mcp_unavailable', message: 'it crashed', hint: 'See its log.' };
    refuse(exchange, 503, { error });
  });
  await using _server = server;
  await using connected = await connectByStdio('v1, 2025-11-25', server.env);
  await expect(useTool(connected.client, 'pay')).rejects.toThrow(/it crashed/);
  expect(seen).toHaveLength(2);
  await eventually(() => {
    expect(connected.stderr()).toContain('it crashed. See its log.');
  });
});
