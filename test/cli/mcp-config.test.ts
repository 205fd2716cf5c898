import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cli } from './support/cli.ts';
import { memory, runMcp, startStub } from './support/mcp-stub.ts';
import { someId } from './support/scripted-server.ts';

const twin = { ...memory, id: '3f0c1f0c-0000-4000-8000-000000000003', owner: 'other' };
const time = { ...memory, id: '4f0c1f0c-0000-4000-8000-000000000004', name: 'time' };
const routes = {
  'GET /mcp/servers/memory': memory,
  'GET /mcp/servers': { items: [memory, twin, time] },
  [`GET /agent/workspaces/${someId}`]: { id: someId },
};

test('the snippet on standard output, what to do with it on standard error', async () => {
  const { code, stdout, stderr } = await runMcp(routes, ['config', 'memory', '--client', 'claude']);
  expect(JSON.parse(stdout)).toEqual({
    mcpServers: {
      memory: {
        type: 'http',
        url: expect.stringMatching(
          /^http:\/\/127\.0\.0\.1:\d+\/api\/v1\/mcp\/servers\/memory\/mcp$/,
        ) as string,
        headers: { Authorization: 'Bearer ${EMERGENT_TOKEN}' },
      },
    },
  });
  expect(stderr).toBe(
    'Paste it into .mcp.json of your project.\n' +
      'Start Claude with EMERGENT_TOKEN set to a token of this server.\n',
  );
  expect(code).toBe(0);
});

test('the token only where it was asked for', async () => {
  const hidden = await runMcp(routes, ['config', 'memory', '--stdio']);
  expect(hidden.stdout).not.toMatch(/"token"/);
  const shown = await runMcp(routes, ['config', 'memory', '--show-token']);
  expect(shown.stdout).toContain('"Bearer token"');
  expect(shown.stderr).toContain('It holds your token');
});

test('all servers; those of one name by their ids', async () => {
  const { stdout } = await runMcp(routes, ['config', '--all']);
  const { mcpServers } = JSON.parse(stdout) as { mcpServers: Record<string, { url: string }> };
  expect(Object.keys(mcpServers)).toEqual(['memory-1f0c1f0c', 'memory-3f0c1f0c', 'time']);
  expect(mcpServers['memory-3f0c1f0c']?.url).toContain(twin.id);
});

test('a workspace, and Emergent itself', async () => {
  const workspace = await runMcp(routes, ['config', '--workspace', someId]);
  expect(workspace.stdout).toContain(`/api/v1/agent/workspaces/${someId}/mcp"`);
  const whole = await runMcp(routes, ['config']);
  expect(whole.stdout).toMatch(/"url": "http:\/\/127\.0\.0\.1:\d+\/api\/v1\/mcp"/);
});

test('over stdio, a token that lies in a file is found there again', async () => {
  await using stub = await startStub(routes);
  const directory = await mkdtemp(join(tmpdir(), 'emergent-mcp-'));
  await writeFile(join(directory, 'admin-token'), 'secret\n');
  await writeFile(join(directory, 'emergent'), '', { mode: 0o755 });
  const url = stub.server.env['EMERGENT_URL'] ?? '';
  const env = { EMERGENT_URL: url, EMERGENT_DATA_DIR: directory, PATH: directory };
  const { stdout, stderr } = await cli(['mcp', 'config', 'memory', '--stdio'], { env });
  await rm(directory, { recursive: true });
  expect(JSON.parse(stdout)).toEqual({
    mcpServers: {
      memory: {
        command: 'emergent',
        args: ['mcp', 'stdio', '--server', 'memory'],
        env: { EMERGENT_URL: url, EMERGENT_DATA_DIR: directory },
      },
    },
  });
  expect(stderr).toBe("Paste it into the client's settings.\n");
});
