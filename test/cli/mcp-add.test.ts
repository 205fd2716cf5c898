import { writeFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Cli } from './support/cli.ts';
import { crashed, logLine, memory, rpc, runMcp, startStub } from './support/mcp-stub.ts';
import { someId } from './support/scripted-server.ts';

const tools = { 'tools/list': { tools: [{}, {}] } };
const routes = {
  'POST /mcp/servers': memory,
  [`POST /mcp/servers/${someId}/call`]: rpc(tools),
};

test('the id on standard output; state, tools and what comes next on standard error', async () => {
  const args = ['add', 'memory', '--network', 'nat', '--', 'npx', '-y', 'a b'];
  const { code, stdout, stderr, bodies } = await runMcp(routes, args);
  expect(stdout).toBe(`${someId}\n`);
  expect(stderr).toBe(
    'added: memory, healthy, 2 tools, node:24\nConnect a client: emergent mcp config memory\n',
  );
  expect(code).toBe(0);
  expect(bodies[0]).toEqual({
    ...{ name: 'memory', command: 'npx', args: ['-y', 'a b'], network: 'nat' },
  });
});

test('everything that can be said, and nothing that was not', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'emergent-mcp-'));
  await writeFile(join(directory, 'env'), 'A=file\nB=file\n');
  const args = [
    ...['add', 'web', '--image', 'img', '--env', 'A=said', '--env', 'OWN', '--env-file', 'env'],
    ...['--volume', '/a', '--volume', '/b', '--port', '3000', '--path', '/x', '--restart', 'never'],
    ...['--cpu', '1', '--memory', '1G', '--disk', '2G', '--network', 'isolated'],
    ...['--provider', 'gvisor', '--max-in-flight', '1', '--init-timeout', '90s'],
    ...['--workdir', '/w', '--shared', '--metadata', 'k=v', '--json'],
  ];
  const { stdout, bodies } = await runMcp(routes, args, { cwd: directory, env: { OWN: 'mine' } });
  await rm(directory, { recursive: true });
  expect(JSON.parse(stdout)).toEqual(memory);
  expect(bodies).toEqual([
    {
      ...{ name: 'web', image: 'img', env: { A: 'said', B: 'file', OWN: 'mine' } },
      ...{ volumes: ['/a', '/b'], stdio_bridge: false, port: 3000, path: '/x' },
      ...{ restart_policy: 'never', resource_limits: { cpu: '1', memory: '1G', disk: '2G' } },
      ...{ network: 'isolated', provider: 'gvisor', max_in_flight: 1 },
      ...{ initialize_timeout_ms: 90_000, workdir: '/w', shared: true, metadata: { k: 'v' } },
    },
  ]);
  const plain = await runMcp(routes, ['add', 'time', '--image', 'mcp/time']);
  expect(plain.bodies[0]).toEqual({ name: 'time', image: 'mcp/time' });
});

test('one that does not answer: its last lines, the reason, what to do, exit code 1', async () => {
  const failing = {
    'POST /mcp/servers': crashed,
    [`GET /mcp/servers/${crashed.id}/logs?tail=20`]: {
      items: [logLine(1, 'Error: no key'), logLine(2, 'exited with code 1', 'host')],
    },
  };
  const { code, stdout, stderr } = await runMcp(failing, ['add', 'broken']);
  const lines = stderr.split('\n');
  expect(lines.slice(0, 2)).toEqual([
    '2026-01-02T03:04:01.000Z  stderr  Error: no key',
    '2026-01-02T03:04:02.000Z  host    exited with code 1',
  ]);
  expect(lines[2]).toMatch(/^emergent: broken is waiting \(crash loop\): it exited with code 1\. /);
  expect({ code, stdout }).toEqual({ code: 1, stdout: `${crashed.id}\n` });
  const json = await runMcp(failing, ['add', 'broken', '--json']);
  expect(JSON.parse(json.stdout)).toEqual(crashed);
  expect(JSON.parse(json.stderr)).toMatchObject({
    error: { code: 'mcp_unhealthy', details: { log: [{ text: 'Error: no key' }, {}] } },
  });
});

test('a pull is told while it lasts', async () => {
  const { promise: followed, resolve: follow } = Promise.withResolvers<undefined>();
  const detail = { step: 'pulling_image', image: 'img', message: 'pulling img: 50 %' };
  const other = { ...detail, image: 'other', message: 'pulling other' };
  await using stub = await startStub({
    'GET /events?type=workspace.creating': (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const one of [other, detail]) {
        response.write(`data: ${JSON.stringify({ id: 1, detail: one })}\n\n`);
      }
      follow(undefined);
    },
    'POST /mcp/servers': (response) => {
      void followed.then(() => shown).then(() => response.end(JSON.stringify(memory)));
    },
    [`POST /mcp/servers/${someId}/call`]: rpc(tools),
  });
  const running = new Cli(['mcp', 'add', 'memory', '--image', 'img'], { env: stub.server.env });
  const shown = running.shows('stderr', 'pulling img: 50 %\n');
  const [{ code, stderr }] = await Promise.all([running.ended, shown]);
  expect(stderr).toMatch(/^pulling img: 50 %\nadded: memory/);
  expect(code).toBe(0);
});

test('Ctrl-C ends the request, and leaves the rest to the server', async () => {
  const asked = Promise.withResolvers<undefined>();
  const gone = Promise.withResolvers<undefined>();
  await using stub = await startStub({
    'POST /mcp/servers': (response) => {
      response.on('close', () => {
        gone.resolve(undefined);
      });
      asked.resolve(undefined);
    },
  });
  const running = new Cli(['mcp', 'add', 'memory'], { env: stub.server.env });
  await asked.promise;
  running.kill('SIGINT');
  await gone.promise;
  const { code, stderr } = await running.ended;
  expect(stderr).toBe('what became of memory is shown by: emergent mcp list\n');
  expect(code).toBe(130);
});

test.for<[readonly string[], RegExp]>([
  [['add'], /missing required argument 'name'/],
  [['add', 'x', '--path', '/mcp'], /--path is of a server that speaks HTTP itself/],
  [['add', 'x', '--port', '0'], /Write a number from 1 to 65535/],
  [['add', 'x', '--restart', 'often'], /Allowed choices are always, on-failure, never/],
  [['add', 'x', '--max-in-flight', '0'], /Write a number from 1/],
  [['add', 'x', '--env', 'NOT_SET_HERE'], /NOT_SET_HERE is not set here/],
  [['add', 'x', 'npx', '-y', 'pkg'], /unknown option '-y'.*options of the command itself go after/],
  [['frobnicate'], /unknown command 'frobnicate'/],
  [['logs', 'x', '-n', 'many'], /Write a number from 0 to 1000/],
  [['config', 'x', '--all'], /names, --workspace and --all exclude each other/],
  [['config', 'x', '--client', 'netscape'], /Allowed choices are json, claude, vscode, cursor/],
])('%j is refused with the exit code 2', async ([args, says]) => {
  const { code, stdout, stderr, requests } = await runMcp({}, args);
  expect(stderr).toMatch(says);
  expect({ code, stdout, requests }).toEqual({ code: 2, stdout: '', requests: [] });
});
