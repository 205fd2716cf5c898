import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import {
  CallToolRequestSchema,
  ListResourcesRequestSchema,
  ListRootsResultSchema,
  ListToolsRequestSchema,
  SetLevelRequestSchema,
  SubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { systemClock } from '../../../src/base/clock.ts';
import { EmergentError } from '../../../src/domain/errors.ts';
import { Bridge } from '../../../src/engine/mcp/bridge/bridge.ts';
import { recordLog } from '../../support/log.ts';

/** A program in this process, and the bridge that speaks with it over its pipe. */
export interface HostedProgram {
  readonly bridge: Bridge;
  readonly stdin: PassThrough;
  readonly stdout: PassThrough;
  /** It ends, as by a crash. */
  end(): void;
}

/** Joins the two ends of a pipe that somebody else's program has. */
export async function hosted(
  serve: (stdin: PassThrough, stdout: PassThrough) => Promise<void>,
): Promise<HostedProgram> {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const bridge = new Bridge({
    write: async (data) => {
      if (!stdin.write(data)) await once(stdin, 'drain');
    },
    maxInFlight: 64,
    clock: systemClock,
    log: recordLog('error').log,
    onStray: () => undefined,
  });
  stdout.on('data', (data: Buffer) => {
    bridge.feed(data);
  });
  await serve(stdin, stdout);
  await bridge.introduce(30_000, new AbortController().signal);
  return {
    bridge,
    stdin,
    stdout,
    end: () => {
      bridge.close(new EmergentError('mcp_failed', 'the server exited with code 1'));
    },
  };
}

export interface LegacyProgram extends HostedProgram {
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- a program that says more than McpServer lets it
  readonly server: Server;
  /** Aborts with each call of "wait" that was cancelled. */
  readonly cancelled: Promise<void>;
  /** Resolves when "wait" was called. */
  readonly waiting: Promise<void>;
  readonly levels: readonly string[];
  readonly subscribed: readonly string[];
  /** Resolves when something was first subscribed to. */
  readonly subscription: Promise<void>;
}

const capabilities = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  logging: {},
  experimental: { 'test/odd': { yes: true } },
};

/** A server of 2025, by the SDK that most of them are made with. */
export async function legacyProgram(name = 'test-program'): Promise<LegacyProgram> {
  const cancelled = Promise.withResolvers<void>();
  const waiting = Promise.withResolvers<void>();
  const subscription = Promise.withResolvers<void>();
  const levels: string[] = [];
  const subscribed: string[] = [];
  const info = { name, version: '1.2.3', title: 'A title' };
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- as above
  const server = new Server(info, { capabilities, instructions: 'be kind' });
  const tools = ['echo', 'wait', 'progress', 'sample', 'elicit', 'roots', 'odd', 'fail', 'refuse'];
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: tools.map((tool) => ({ name: tool, inputSchema: { type: 'object' as const } })),
    'x-unknown': { kept: true },
  }));
  server.setRequestHandler(SetLevelRequestSchema, ({ params }) => {
    levels.push(params.level);
    return {};
  });
  server.setRequestHandler(ListResourcesRequestSchema, () => ({ resources: [] }));
  server.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
    subscribed.push(params.uri);
    subscription.resolve();
    return {};
  });
  server.setRequestHandler(CallToolRequestSchema, async (request, extra) => {
    const { name: tool, arguments: given = {} } = request.params;
    const said = (text: string) => ({ content: [{ type: 'text' as const, text }] });
    switch (tool) {
      case 'echo':
        return said(String(given['text']));
      case 'odd':
        return { ...said('odd'), 'x-unknown': request.params._meta, _meta: { 'test/kept': 1 } };
      case 'fail':
        return { ...said('it failed'), isError: true };
      case 'wait':
        waiting.resolve();
        await once(extra.signal, 'abort');
        cancelled.resolve();
        return said('never heard');
      case 'progress': {
        const progressToken = extra._meta?.progressToken;
        for (const progress of [1, 2, 3]) {
          if (progressToken === undefined) break;
          await extra.sendNotification({
            method: 'notifications/progress',
            params: { progressToken, progress, total: 3, message: `step ${String(progress)}` },
          });
        }
        return said('done');
      }
      case 'sample': {
        const answer = await server.createMessage({
          messages: [{ role: 'user', content: { type: 'text', text: 'what?' } }],
          maxTokens: 10,
        });
        return said(`the client said ${JSON.stringify(answer.content)}`);
      }
      case 'elicit': {
        const answers: string[] = [];
        for (const message of ['first?', 'second?']) {
          const { action, content } = await server.elicitInput({
            message,
            requestedSchema: { type: 'object', properties: { word: { type: 'string' } } },
          });
          answers.push(`${action}:${String(content?.['word'])}`);
        }
        return said(answers.join(' '));
      }
      case 'roots': {
        const { roots } = await server.request({ method: 'roots/list' }, ListRootsResultSchema);
        return said(roots.map(({ uri }) => uri).join(' '));
      }
      default:
        throw Object.assign(new Error('no such tool'), { code: -32_602, data: { tool } });
    }
  });
  server.fallbackRequestHandler = async ({ method, params }) => ({ method, params });
  const program = await hosted((stdin, stdout) =>
    server.connect(new StdioServerTransport(stdin, stdout)),
  );
  return {
    ...{ ...program, server, levels, subscribed },
    ...{ cancelled: cancelled.promise, waiting: waiting.promise },
    subscription: subscription.promise,
  };
}
