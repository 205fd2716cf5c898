import { CreateMessageRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect, connectModern, toolText } from '../support/mcp-clients.ts';
import { hostingTimeout } from '../support/mcp-hosting.ts';
import { startMcpScenario } from '../support/mcp-scenario.ts';
import type { McpScenario } from '../support/mcp-scenario.ts';

// Real servers of the field, from an image as people have them, through the gateway, on real gVisor.
describe('the reference servers', hostingTimeout, () => {
  let scenario: McpScenario;
  beforeAll(async () => {
    scenario = await startMcpScenario();
  });
  afterAll(() => scenario[Symbol.asyncDispose]());

  test('everything: tools, progress, sampling, resources, prompts and completion', async () => {
    const { hosting, images, server } = scenario;
    const { id, introduction } = await hosting.register({
      ...{ name: 'everything', image: images.reference },
      ...{ command: 'mcp-server-everything', args: ['stdio'] },
    });
    expect(introduction?.server_info.name).toContain('everything');
    await using client = await connect(server, id, { sampling: {} });
    client.setRequestHandler(CreateMessageRequestSchema, () => ({
      ...{ model: 'a-test', role: 'assistant' as const },
      content: { type: 'text' as const, text: 'as the client says' },
    }));
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('echo');
    expect(await toolText(client, 'echo', { message: 'hello' })).toContain('hello');
    const told: number[] = [];
    await client.callTool(
      { name: 'trigger-long-running-operation', arguments: { duration: 0.4, steps: 4 } },
      undefined,
      { onprogress: ({ progress }) => void told.push(progress) },
    );
    expect(told.slice(0, 3)).toEqual([1, 2, 3]);
    const sampled = await toolText(client, 'trigger-sampling-request', {
      prompt: 'p',
      maxTokens: 9,
    });
    expect(sampled).toContain('as the client says');
    expect((await client.listResources()).resources.length).toBeGreaterThan(0);
    const { prompts } = await client.listPrompts();
    expect(prompts.length).toBeGreaterThan(0);
    const [prompt] = prompts.filter(({ arguments: args = [] }) => args.length === 0);
    const { messages } = await client.getPrompt({ name: prompt?.name ?? '' });
    expect(messages.length).toBeGreaterThan(0);

    await using modern = await connectModern(server, id);
    expect(await toolText(modern, 'echo', { message: 'hello again' })).toContain('hello again');
    expect((await modern.listPrompts()).prompts).toHaveLength(prompts.length);
  });

  test('filesystem: reads and writes the directory that it was given', async () => {
    const { hosting, images, server } = scenario;
    const { id } = await hosting.register({
      ...{ name: 'filesystem', image: images.reference, volumes: ['/shelf'] },
      ...{ command: 'mcp-server-filesystem', args: ['/shelf'] },
    });
    await using client = await connect(server, id);
    await toolText(client, 'write_file', { path: '/shelf/book', content: 'once upon a time' });
    await using modern = await connectModern(server, id);
    expect(await toolText(modern, 'read_text_file', { path: '/shelf/book' })).toContain(
      'once upon a time',
    );
    const outside = await client.callTool({
      ...{ name: 'read_text_file', arguments: { path: '/etc/passwd' } },
    });
    expect(outside.isError).toBe(true);
  });

  test('memory: what a user without rights keeps on its volume outlives its container', async () => {
    const { hosting, images, server } = scenario;
    const { id } = await hosting.register({
      ...{ name: 'memory', image: images.memory, volumes: ['/data'] },
    });
    const entities = [{ name: 'Ada', entityType: 'person', observations: ['counts'] }];
    await using client = await connect(server, id);
    await toolText(client, 'create_entities', { entities });
    await hosting.change(id, 'stop');
    await hosting.change(id, 'start');
    await using again = await connectModern(server, id);
    expect(await toolText(again, 'read_graph')).toContain('Ada');
  });
});
