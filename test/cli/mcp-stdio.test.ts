import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { generations, useTool } from '../api/support/mcp.ts';
import { cli } from './support/cli.ts';
import { connectByStdio } from './support/mcp-stdio.ts';
import { TestServer } from './support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

interface Process {
  readonly command: string;
  readonly status: string;
}

async function lastProcess(id: string): Promise<Process | undefined> {
  const { stdout } = await server.run(['ps', id, '--all', '--json']);
  const { items } = JSON.parse(stdout) as { items: readonly Process[] };
  return items.at(-1);
}

describe.each(generations)('a client of %s, over standard input and output', (generation) => {
  test('makes a workspace and works in it', async () => {
    await using connected = await connectByStdio(generation, server.env);
    const { client } = connected;
    await client.listTools();
    const created = await useTool(client, 'create_workspace');
    const { id: workspace_id } = created.structured as { id: string };
    const ran = await useTool(client, 'bash', { workspace_id, command: 'echo hello' });
    expect(ran.structured).toMatchObject({ stdout: 'hello\n', exit_code: 0 });
    await expect(useTool(client, 'tea')).rejects.toThrow(/tea/);
    await useTool(client, 'destroy_workspace', { workspace_id });
    expect(connected.stderr()).toBe('');
  });

  test('cancels a command, which ends', async () => {
    const id = await server.create();
    await using connected = await connectByStdio(generation, server.env, ['--workspace', id]);
    const { client } = connected;
    const cancel = new AbortController();
    const begun = Promise.withResolvers<void>();
    const command = 'echo begun; sleep 1000; echo end';
    const running = useTool(
      client,
      'bash',
      { command },
      {
        signal: cancel.signal,
        onprogress: () => {
          begun.resolve();
        },
      },
    );
    const ended = expect(running).rejects.toThrow();
    await begun.promise;
    cancel.abort('no longer wanted');
    await ended;
    await eventually(async () => {
      expect(await lastProcess(id)).toMatchObject({ command, status: 'exited' });
    });
    // The way is still open.
    expect((await useTool(client, 'bash', { command: 'echo on' })).text).toContain('on');
  });

  test('finds the server again when it is restarted', async () => {
    await using connected = await connectByStdio(generation, server.env);
    const { client } = connected;
    await client.listTools();
    await server.restart();
    const created = await useTool(client, 'create_workspace');
    expect(created.structured).toMatchObject({ status: 'ready' });
  });
});

test('says why when the server cannot be reached', async () => {
  const env = {
    EMERGENT_URL: `http://127.0.0.1:${String(await freePort())}`,
    EMERGENT_TOKEN: 'token',
  };
  await expect(connectByStdio('v1, 2025-11-25', env)).rejects.toThrow(/cannot reach the server at/);
});

test('says why when the token is refused, or the workspace is not there', async () => {
  const wrong = { ...server.env, EMERGENT_TOKEN: 'wrong' };
  await expect(connectByStdio('v1, 2025-11-25', wrong)).rejects.toThrow(/refused the token/);
  const missing = ['--workspace', '1f0c1f0c-0000-4000-8000-000000000001'];
  await expect(connectByStdio('v1, 2025-11-25', server.env, missing)).rejects.toThrow(
    /no workspace/,
  );
});

test('ends with its input, whatever it is asked meanwhile', async () => {
  const request = { jsonrpc: '2.0', id: 1, method: 'ping' };
  const ended = await server.run(['mcp', 'stdio'], { input: `${JSON.stringify(request)}\n` });
  expect(ended).toMatchObject({ code: 0, stderr: '' });
});

test('tells of what is no message, and goes on', async () => {
  const { code, stdout, stderr } = await server.run(['mcp', 'stdio'], { input: 'tea\n[1]\n' });
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  expect(stderr).toContain('is no message');
});

test('a signal ends it', async () => {
  await using connected = await connectByStdio('v1, 2025-11-25', server.env);
  const closed = Promise.withResolvers<void>();
  connected.client.onclose = closed.resolve;
  process.kill(connected.pid ?? 0, 'SIGTERM');
  await closed.promise;
});

test('takes one place only, and shows how it is used', async () => {
  const both = await cli(['mcp', 'stdio', '--workspace', '1f0c', '--server', 'memory'], {
    env: { EMERGENT_TOKEN: 'token' },
  });
  expect(both.code).toBe(2);
  const help = await cli(['mcp', 'stdio', '--help']);
  expect(help.stdout).toContain('"args": ["mcp", "stdio"]');
});
