import { PassThrough } from 'node:stream';
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport as StdioV1 } from '@modelcontextprotocol/sdk/server/stdio.js';
import { inputRequired, McpServer } from '@modelcontextprotocol/server';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../../../../../src/base/clock.ts';
import { createLog } from '../../../../../src/base/log.ts';
import { EmergentError } from '../../../../../src/domain/errors.ts';
import { Bridge } from '../../../../../src/engine/mcp/bridge/bridge.ts';
import { eventually } from '../../../../support/eventually.ts';
import { options, testClient } from './support/pipe.ts';

/** A bridge whose program is a server of the SDK at the other end of two streams. */
class InProcess implements Disposable {
  readonly stdin = new PassThrough();
  readonly stdout = new PassThrough();
  readonly stray: string[] = [];
  readonly bridge = new Bridge({
    write: (data) =>
      new Promise((resolve, reject) => {
        this.stdin.write(data, (error) => {
          if (error) reject(error);
          else resolve();
        });
      }),
    maxInFlight: 16,
    clock: systemClock,
    log: createLog({ level: 'silent' }),
    onStray: (line) => this.stray.push(line),
  });

  constructor() {
    this.stdout.on('data', (chunk: Buffer) => {
      this.bridge.feed(chunk);
    });
  }

  [Symbol.dispose](): void {
    this.bridge.close(new EmergentError('mcp_failed', 'the test is over'));
    this.stdin.end();
  }
}

const never = new AbortController().signal;
const add = { method: 'tools/call', params: { name: 'add', arguments: { a: 2, b: 3 } } };
const five = { result: { content: [{ type: 'text', text: '5' }] } };
const numbers = { a: z.number(), b: z.number() };
const sum = ({ a, b }: { a: number; b: number }) => ({
  content: [{ type: 'text' as const, text: String(a + b) }],
});

describe('a server of SDK 1', () => {
  async function serve(): Promise<InProcess & { server: McpServerV1 }> {
    const program = new InProcess();
    const server = new McpServerV1(
      { name: 'one', version: '1.0.0' },
      { capabilities: { logging: {}, resources: { subscribe: true } }, instructions: 'Add.' },
    );
    server.registerTool('add', { inputSchema: numbers }, sum);
    server.registerTool('ask', {}, async () => {
      const { roots } = await server.server.listRoots();
      return { content: [{ type: 'text', text: JSON.stringify(roots) }] };
    });
    server.registerTool('slow', {}, async ({ signal, _meta, sendNotification }) => {
      const progressToken = _meta?.progressToken ?? '';
      const aborted = new Promise((resolve) => {
        signal.addEventListener('abort', resolve);
      });
      const params = { progressToken, progress: 1 };
      await sendNotification({ method: 'notifications/progress', params });
      await aborted;
      await server.server.sendLoggingMessage({ level: 'warning', data: 'was cancelled' });
      return { content: [] };
    });
    await server.connect(new StdioV1(program.stdin, program.stdout));
    return Object.assign(program, { server });
  }

  it('introduces itself, is called and pinged', async () => {
    using program = await serve();
    const { bridge } = program;
    expect(await bridge.introduce(10_000, never)).toMatchObject({
      protocolVersion: '2025-11-25',
      serverInfo: { name: 'one', version: '1.0.0' },
      capabilities: { tools: { listChanged: true } },
      instructions: 'Add.',
    });
    const calls = Array.from({ length: 50 }, () => bridge.call(add, options(testClient('a'))));
    for (const outcome of await Promise.all(calls)) expect(outcome).toMatchObject(five);
    await bridge.ping(10_000, never);
    expect(program.stray).toEqual([]);
    expect(bridge.lateAnswers).toBe(0);
  });

  it('asks the client whose call is in flight', async () => {
    using program = await serve();
    await program.bridge.introduce(10_000, never);
    const client = testClient('anna', {
      capabilities: { roots: {} },
      request: () => Promise.resolve({ result: { roots: [{ uri: 'file:///home/anna' }] } }),
    });
    const ask = { method: 'tools/call', params: { name: 'ask' } };
    expect(await program.bridge.call(ask, options(client))).toMatchObject({
      result: { content: [{ text: expect.stringContaining('file:///home/anna') as string }] },
    });
  });

  it('tells of progress, and hears that it is cancelled', async () => {
    using program = await serve();
    const { bridge } = program;
    await bridge.introduce(10_000, never);
    const client = testClient('anna');
    using _ = bridge.attach(client);
    const abort = new AbortController();
    const call = bridge.call(
      { method: 'tools/call', params: { name: 'slow', _meta: { progressToken: 'mine' } } },
      options(client, {
        signal: abort.signal,
        onProgress: ({ params }) => {
          abort.abort(new Error(`stop at ${JSON.stringify(params)}`));
        },
      }),
    );
    await expect(call).rejects.toThrow('stop at {"progressToken":"mine","progress":1}');
    await eventually(() => {
      expect(client.heard).toMatchObject([{ params: { data: 'was cancelled' } }]);
    });
  });

  it('says to those who are attached that its tools have changed', async () => {
    using program = await serve();
    await program.bridge.introduce(10_000, never);
    const client = testClient('anna');
    using _ = program.bridge.attach(client);
    program.server.registerTool('more', {}, () => ({ content: [] }));
    await eventually(() => {
      expect(client.heard).toMatchObject([{ method: 'notifications/tools/list_changed' }]);
    });
  });
});

describe('a server of SDK 2', () => {
  function serve(legacy: 'serve' | 'reject') {
    const program = new InProcess();
    const made: McpServer[] = [];
    const seen: unknown[] = [];
    const handle = serveStdio(
      () => {
        const server = new McpServer(
          { name: 'two', version: '2.0.0' },
          { capabilities: { logging: {}, tools: {}, resources: { subscribe: true } } },
        );
        server.registerTool('add', { inputSchema: z.object(numbers) }, (numbersGiven, context) => {
          seen.push(context.mcpReq.envelope);
          return sum(numbersGiven);
        });
        server.registerTool('form', {}, () =>
          inputRequired({
            inputRequests: {
              name: inputRequired.elicit({
                message: 'Who?',
                requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
              }),
            },
          }),
        );
        server.registerResource('x', 'test://x', {}, () => ({ contents: [] }));
        made.push(server);
        return server;
      },
      { legacy, transport: new StdioServerTransport(program.stdin, program.stdout) },
    );
    const server = (): McpServer => {
      const last = made.at(-1);
      if (!last) throw new Error('no server was made');
      return last;
    };
    return Object.assign(program, { server, seen, handle });
  }

  it('that takes both revisions is spoken to in the older', async () => {
    using program = serve('serve');
    const { protocolVersion } = await program.bridge.introduce(10_000, never);
    expect(protocolVersion).toBe('2025-11-25');
    expect(await program.bridge.call(add, options(testClient('a')))).toMatchObject(five);
  });

  it('that takes only the newer is spoken to in that, with the envelope of each client', async () => {
    using program = serve('reject');
    const { bridge } = program;
    expect(await bridge.introduce(10_000, never)).toMatchObject({
      protocolVersion: '2026-07-28',
      serverInfo: { name: 'two', version: '2.0.0' },
      capabilities: { tools: { listChanged: true } },
    });
    await bridge.ping(10_000, never);
    const client = testClient('anna', { capabilities: { elicitation: { form: {} } } });
    expect(await bridge.call(add, options(client))).toMatchObject(five);
    expect(program.seen).toMatchObject([
      {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
      },
    ]);
    expect(await bridge.call({ method: 'ping' }, options(client))).toEqual({ result: {} });
  });

  it('answers that it needs more, and the answer comes back as it is', async () => {
    using program = serve('reject');
    await program.bridge.introduce(10_000, never);
    const client = testClient('anna', { capabilities: { elicitation: { form: {} } } });
    const form = { method: 'tools/call', params: { name: 'form' } };
    expect(await program.bridge.call(form, options(client))).toMatchObject({
      result: {
        resultType: 'input_required',
        inputRequests: { name: { method: 'elicitation/create', params: { message: 'Who?' } } },
      },
    });
  });

  it('is listened to while somebody is attached', async () => {
    using program = serve('reject');
    const { bridge } = program;
    await bridge.introduce(10_000, never);
    const [anna, bert] = [testClient('anna'), testClient('bert')];
    using _ = bridge.attach(anna);
    using _bert = bridge.attach(bert);
    const subscribe = { method: 'resources/subscribe', params: { uri: 'test://x' } };
    expect(await bridge.call(subscribe, options(anna))).toEqual({ result: {} });
    await bridge.call(add, options(anna));
    await program.server().server.sendResourceUpdated({ uri: 'test://x' });
    program.server().sendToolListChanged();
    await eventually(() => {
      expect(anna.heard).toEqual([
        { method: 'notifications/resources/updated', params: { uri: 'test://x', _meta: {} } },
        { method: 'notifications/tools/list_changed', params: { _meta: {} } },
      ]);
    });
    expect(bert.heard).toEqual([anna.heard[1]]);
    expect(bridge.lateAnswers).toBe(0);
  });
});
