import { expect, test } from 'vitest';
import { crashed, memory, runMcp } from './support/mcp-stub.ts';
import type { Routes } from './support/mcp-stub.ts';

const settings = {
  mcpServers: {
    'My Memory': { command: 'npx', args: ['-y', 'pkg'], env: { KEY: '${SECRET}' } },
    github: {
      command: 'docker',
      args: ['run', '-i', '--rm', '-e', 'SECRET', 'ghcr.io/gh', 'stdio'],
    },
    files: { command: 'docker', args: ['run', '-v', '/home/me:/data', 'mcp/files'] },
    remote: { url: 'https://example.com/mcp' },
    there: { command: 'uvx', args: ['x'] },
  },
};
const existing = { 'GET /mcp/servers': { items: [{ ...memory, name: 'there' }] } };
const env = { SECRET: 's3cret' };

function run(routes: Routes, args: readonly string[], given: object = settings) {
  const input = JSON.stringify(given);
  return runMcp({ ...existing, ...routes }, ['import', '-', ...args], { input, env });
}

test('each becomes a server, or it is said why not', async () => {
  const { code, stdout, stderr, bodies } = await run({ 'POST /mcp/servers': memory }, []);
  expect(stdout.split('\n')).toEqual([
    'NAME       RESULT   IMAGE    WHY',
    'my-memory  added    node:24',
    'github     added    node:24',
    'files      failed   -        /home/me:/data mounts a folder of the host, which a sandbox cannot see: name a volume instead',
    'remote     skipped  -        it is reached at a URL already',
    'there      skipped  -        there is one of this name: --replace',
    '',
  ]);
  expect(stderr).toBe('my-memory: "My Memory" is called my-memory here\n');
  expect(code).toBe(1);
  expect(bodies).toEqual([
    {
      ...{ name: 'my-memory', command: 'npx', args: ['-y', 'pkg'], network: 'nat' },
      env: { KEY: 's3cret' },
    },
    {
      ...{ name: 'github', image: 'ghcr.io/gh', args: ['stdio'], network: 'nat' },
      env: { SECRET: 's3cret' },
    },
  ]);
});

test('--dry-run changes nothing, and tells no secret', async () => {
  const { stdout, requests } = await run({}, ['--dry-run', '--image', 'node:24', '--replace']);
  expect(requests).toEqual(['GET /mcp/servers']);
  expect(stdout).toMatch(/^my-memory {2}would add {6}node:24$/m);
  expect(stdout).toMatch(/^there {6}would replace {2}node:24$/m);
  expect(stdout).toContain(
    'emergent mcp add my-memory --image node:24 --env KEY --network nat -- npx -y pkg\n',
  );
  expect(stdout).toContain(
    'emergent mcp add github --image ghcr.io/gh --env SECRET --network nat -- stdio\n',
  );
  expect(stdout).not.toContain('s3cret');
});

test('--replace: the former one makes way, its volumes stay', async () => {
  const routes = {
    'DELETE /mcp/servers/there?keep_volumes=true': { kept_volumes: null },
    'POST /mcp/servers': memory,
  };
  const { code, stdout, requests } = await run(routes, ['there', '--replace']);
  expect(stdout).toMatch(/^there {2}replaced {2}node:24$/m);
  expect(code).toBe(0);
  expect(requests).toEqual([
    'GET /mcp/servers',
    'DELETE /mcp/servers/there?keep_volumes=true',
    'POST /mcp/servers',
  ]);
});

test('one that fails does not keep the others from it', async () => {
  const error = { code: 'image_not_found', message: 'there is no image ghcr.io/gh', hint: 'Look.' };
  const routes: Routes = {
    'POST /mcp/servers': (response, body) => {
      const { name } = body as { name: string };
      if (name === 'github') response.writeHead(422).end(JSON.stringify({ error }));
      else response.end(JSON.stringify(name === 'broken' ? crashed : memory));
    },
  };
  const given = {
    servers: {
      github: settings.mcpServers.github,
      broken: { type: 'stdio', command: 'x' },
      Broken: { type: 'stdio', command: 'x' },
      good: { type: 'stdio', command: 'x' },
    },
  };
  const { code, stdout } = await run(routes, ['--json'], given);
  const { items } = JSON.parse(stdout) as { items: unknown[] };
  expect(items).toMatchObject([
    { name: 'github', result: 'failed', reason: 'there is no image ghcr.io/gh' },
    {
      ...{ name: 'broken', result: 'failed', server: { id: crashed.id } },
      reason: 'it is waiting: it exited with code 1; see: emergent mcp logs broken',
    },
    { name: 'broken', result: 'failed', reason: expect.stringMatching(/^another one/) as string },
    { name: 'good', result: 'added', server: { id: memory.id } },
  ]);
  expect(code).toBe(1);
});

test('a file that is not there, or lacks what was asked for', async () => {
  const missing = await runMcp({}, ['import', '/nonexistent.json']);
  expect(missing.stderr).toMatch(/^emergent: \/nonexistent\.json cannot be read \(ENOENT\)\. /);
  expect(missing.code).toBe(1);
  const unknown = await run({}, ['nobody']);
  expect(unknown.stderr).toMatch(/^emergent: - has no server nobody\. It has: My Memory, github, /);
  expect(unknown.code).toBe(2);
});
