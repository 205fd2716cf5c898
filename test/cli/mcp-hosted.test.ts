import { resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { CliResult } from './support/cli.ts';
import { TestServer } from './support/server.ts';

const program = [process.execPath, resolve(import.meta.dirname, 'support/mcp-program.ts')];

let server: TestServer;

beforeAll(async () => {
  server = await TestServer.start();
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

afterEach(async () => {
  const { stdout } = await mcp('list', '-q');
  const ids = stdout.split('\n').filter((id) => id !== '');
  if (ids.length > 0) await mcp('rm', ...ids);
});

function mcp(...args: readonly string[]): Promise<CliResult> {
  return server.run(['mcp', ...args]);
}

async function add(name: string, ...options: readonly string[]): Promise<CliResult> {
  return mcp('add', name, '--env', 'KEY=green', ...options, '--', ...program);
}

test('a server from its first day to its last', async () => {
  const added = await add('counter');
  expect(added.stderr).toMatch(/^added: counter, healthy, 3 tools, /m);
  expect(added.code).toBe(0);
  const id = added.stdout.trim();

  expect((await mcp('list')).stdout).toMatch(/^counter {2}healthy {2}\d+s +0 /m);
  const got = await mcp('get', 'counter');
  expect(got.stdout).toMatch(/^server +counter 1\.0\.0$/m);
  expect(got.stdout).not.toContain('green');
  expect((await mcp('tools', id)).stdout).toMatch(/^add {3}\[by:number\] {2}Counts\.$/m);

  expect(await mcp('call', 'counter', 'add', 'by=2')).toMatchObject({ code: 0, stdout: '2\n' });
  expect(await mcp('call', 'counter', 'add')).toMatchObject({ stdout: '3\n' });
  expect(await mcp('call', 'counter', 'key')).toMatchObject({ stdout: 'green\n' });
  expect(await mcp('call', 'counter', 'fail')).toMatchObject({ code: 1, stderr: 'as it should\n' });
  expect((await mcp('logs', 'counter')).stdout).toMatch(/ {2}stderr {2}ready$/m);

  expect(await mcp('restart', 'counter')).toMatchObject({ code: 0, stdout: 'counter\n' });
  expect(await mcp('call', 'counter', 'add')).toMatchObject({ stdout: '1\n' });

  expect(await mcp('stop', 'counter')).toMatchObject({ code: 0, stdout: 'counter\n' });
  const refused = await mcp('call', 'counter', 'add');
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toMatch(/^emergent: /);
  expect(await mcp('start', 'counter')).toMatchObject({ code: 0 });
  expect(await mcp('call', 'counter', 'add')).toMatchObject({ stdout: '1\n' });

  expect(await mcp('rm', 'counter')).toMatchObject({ code: 0, stdout: 'counter\n' });
  const gone = await mcp('get', 'counter');
  expect(gone.code).toBe(1);
  expect(gone.stderr).toContain('`emergent mcp list`');
});

test('a program that ends at once: its words, the reason, exit code 1', async () => {
  const { code, stderr } = await mcp('add', 'keyless', '--restart', 'never', '--', ...program);
  expect(stderr).toMatch(/ {2}stderr {2}KEY is not set$/m);
  expect(stderr).toMatch(/^emergent: keyless is ended: .*3.*emergent mcp rm keyless$/m);
  expect(code).toBe(1);
});

test('a name that is taken, and one that cannot be', async () => {
  await add('counter');
  const taken = await add('counter');
  expect(taken).toMatchObject({ code: 1, stdout: '' });
  expect(taken.stderr).toContain('`emergent mcp list`');
  expect(await add('No Name')).toMatchObject({ code: 1, stdout: '' });
});

test('settings of a desktop client', async () => {
  const [command, ...args] = program;
  const settings = {
    mcpServers: {
      'The Counter': { command, args, env: { KEY: '${COLOUR}' } },
      keyless: { command, args, env: {} },
      remote: { url: 'https://example.com/mcp' },
    },
  };
  const given = { input: JSON.stringify(settings), env: { COLOUR: 'blue' } };
  const { code, stdout } = await server.run(['mcp', 'import', '-'], given);
  expect(stdout).toMatch(/^the-counter {2}added /m);
  expect(stdout).toMatch(/^keyless {6}failed .*emergent mcp logs keyless$/m);
  expect(stdout).toMatch(/^remote {7}skipped /m);
  expect(code).toBe(1);
  expect(await mcp('call', 'the-counter', 'key')).toMatchObject({ stdout: 'blue\n' });
  const again = await server.run(['mcp', 'import', '-', 'The Counter'], given);
  expect(again).toMatchObject({ code: 0 });
  expect(again.stdout).toMatch(/^the-counter {2}skipped .*--replace$/m);
});

test('files that outlive their server', async () => {
  const data = resolve(server.files, 'data');
  expect((await add('counter', '--volume', data)).code).toBe(0);
  expect((await mcp('get', 'counter')).stdout).toMatch(new RegExp(`^volumes +${data}$`, 'm'));
  const removed = await mcp('rm', '--keep-volumes', 'counter');
  expect(removed.stderr).toBe(`kept ${data} of counter: emergent mcp volumes\n`);
  const [, row = ''] = (await mcp('volumes')).stdout.split('\n');
  expect(row).toContain(`counter  memory    ${data}`);
  const id = row.slice(0, 36);
  expect(await mcp('volumes', 'rm', id)).toMatchObject({ code: 0, stdout: `${id}\n` });
  expect((await mcp('volumes')).stdout.trimEnd().split('\n')).toHaveLength(1);
});

test('logs -f shows what is written from now on', async () => {
  await add('counter');
  const following = server.start(['mcp', 'logs', '-f', '-n', '1', 'counter']);
  await following.shows('stdout', '\n');
  await mcp('call', 'counter', 'add', 'by=7');
  await following.shows('stdout', 'stderr  counted to 7\n');
  following.kill('SIGINT');
  expect(await following.ended).toMatchObject({ code: 130 });
});

test('what config prints leads to the server', async () => {
  await add('counter');
  const printed = await mcp('config', 'counter', '--show-token');
  const { mcpServers } = JSON.parse(printed.stdout) as {
    mcpServers: { counter: { url: string; headers: Record<string, string> } };
  };
  const { url, headers } = mcpServers.counter;
  const asked = {
    ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
    params: {
      protocolVersion: '2025-11-25',
      ...{ capabilities: {}, clientInfo: { name: 'test', version: '1' } },
    },
  };
  const answer = await fetch(url, {
    method: 'POST',
    headers: {
      ...{ ...headers, 'content-type': 'application/json' },
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify(asked),
  });
  expect(answer.status).toBe(200);
  expect(await answer.text()).toContain('"name":"counter"');
});
