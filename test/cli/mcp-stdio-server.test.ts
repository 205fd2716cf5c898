import { resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { generations, useTool } from '../api/support/mcp.ts';
import { connectByStdio } from './support/mcp-stdio.ts';
import { TestServer } from './support/server.ts';

const program = [process.execPath, resolve(import.meta.dirname, 'support/mcp-program.ts')];

let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start();
  const added = await server.run(['mcp', 'add', 'counter', '--env', 'KEY=green', '--', ...program]);
  expect(added.code, added.stderr).toBe(0);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

describe.each(generations)('a client of %s, over standard input and output', (generation) => {
  test('uses a hosted server by its name, also after a restart of ours', async () => {
    await using connected = await connectByStdio(generation, server.env, ['--server', 'counter']);
    const { client } = connected;
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('add');
    const before = await useTool(client, 'add', { by: 2 });
    expect(before.isError, before.text).toBe(false);
    await server.restart();
    const after = await useTool(client, 'add', { by: 1 });
    expect(after.isError, after.text).toBe(false);
    expect(after.text).toMatch(/^\d+$/);
  });
});

test('says that there is no such server', async () => {
  const connecting = connectByStdio('v1, 2025-11-25', server.env, ['--server', 'tea']);
  await expect(connecting).rejects.toThrow(/tea/);
});
