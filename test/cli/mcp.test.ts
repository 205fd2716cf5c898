import { describe, expect, test } from 'vitest';
import { cli } from './support/cli.ts';
import { crashed, logLine, memory, rpc, runMcp } from './support/mcp-stub.ts';
import { someId } from './support/scripted-server.ts';

const subcommands = [
  ...'add import list get tools call logs restart stop start rm config volumes stdio'.split(' '),
  'volumes rm',
];

test('the help says what it is all about', async () => {
  const { code, stdout } = await cli(['mcp', '--help']);
  expect(code).toBe(0);
  expect(stdout).toContain('Host MCP servers');
  expect(stdout).toMatch(/^Examples:\n {2}emergent mcp add /m);
});

test.for(subcommands)('help of mcp %s has an example', async (name) => {
  const { code, stdout } = await cli(['mcp', ...name.split(' '), '--help']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^Examples?:\n {2}emergent mcp /m);
});

describe('list and get', () => {
  const routes = { 'GET /mcp/servers': { items: [memory, crashed] } };

  test('a table, and why one is not as it should be', async () => {
    const { code, stdout } = await runMcp(routes, ['list']);
    expect(stdout.split('\n')).toEqual([
      'NAME    STATE                 UPTIME  RESTARTS  CLIENTS  IMAGE    ID',
      `memory  healthy               1h      2         3        node:24  ${someId}`,
      `broken  waiting (crash loop)  -       2         0        node:24  ${crashed.id}`,
      'broken: it exited with code 1',
      '',
    ]);
    expect(code).toBe(0);
  });

  test('ids, and JSON', async () => {
    const { stdout } = await runMcp(routes, ['list', '-q']);
    expect(stdout).toBe(`${someId}\n${crashed.id}\n`);
    const json = await runMcp(routes, ['list', '--json']);
    expect(JSON.parse(json.stdout)).toEqual({ items: [memory, crashed] });
    const none = await runMcp({ 'GET /mcp/servers': { items: [] } }, ['list', '-q']);
    expect(none).toMatchObject({ code: 0, stdout: '' });
  });

  test('all facts of one', async () => {
    const usage = { cpu_percent: 1.5, memory_bytes: 2 ** 21, disk_bytes: null, processes: 3 };
    const one = { 'GET /mcp/servers/memory': { ...memory, usage } };
    const { code, stdout } = await runMcp(one, ['get', 'memory']);
    expect(code).toBe(0);
    for (const fact of [
      /^name {11}memory$/m,
      /^state {10}healthy$/m,
      /^uptime {9}1h$/m,
      /^restarts {7}2 \(policy: always\)$/m,
      /^last exit {6}exit code 1 at 2026-01-02T03:04:06\.000Z$/m,
      /^server {9}memory-server 1\.0\.0$/m,
      /^protocol {7}2025-11-25$/m,
      /^clients {8}3, calls in flight: 1 of at most 8$/m,
      /^command {8}npx -y 'a b'$/m,
      /^speaks {9}over its standard input and output$/m,
      /^url {12}http:\/\/127\.0\.0\.1:\d+\/api\/v1\/mcp\/servers\/memory\/mcp$/m,
      /^uses {11}1.5 % CPU, 2.0 MB memory, 3 processes$/m,
      /^volumes {8}\/data$/m,
      /^metadata\.team {2}green$/m,
    ]) {
      expect(stdout).toMatch(fact);
    }
  });

  test('one that is not there: the words of the server, and what to do', async () => {
    const { code, stderr } = await runMcp({}, ['get', 'nobody']);
    expect(stderr).toBe(
      'emergent: there is no such MCP server. Check the id or the name with `emergent mcp list`.\n',
    );
    expect(code).toBe(1);
  });
});

describe('restart, stop, start and rm', () => {
  test.for(['restart', 'stop', 'start'])('%s takes several, one failing or not', async (verb) => {
    const routes = { [`POST /mcp/servers/memory/${verb}`]: memory };
    const { code, stdout, stderr, requests } = await runMcp(routes, [verb, 'nobody', 'memory']);
    expect(requests.toSorted()).toEqual([
      `POST /mcp/servers/memory/${verb}`,
      `POST /mcp/servers/nobody/${verb}`,
    ]);
    expect(stdout).toBe('memory\n');
    expect(stderr).toContain('there is no such MCP server');
    expect(code).toBe(1);
  });

  test('one that does not answer afterwards: its last lines, the reason, what to do', async () => {
    const routes = {
      'POST /mcp/servers/broken/restart': crashed,
      [`GET /mcp/servers/${crashed.id}/logs?tail=20`]: { items: [logLine(1, 'no key\u001b[2J')] },
    };
    const { code, stdout, stderr } = await runMcp(routes, ['restart', 'broken']);
    expect(stderr).toBe(
      '2026-01-02T03:04:01.000Z  stderr  no key\ufffd[2J\n' +
        'emergent: broken is waiting (crash loop): it exited with code 1. ' +
        'It is started again at 2026-01-02T03:06:00.000Z. More: emergent mcp logs broken; ' +
        'once mended: emergent mcp restart broken; to give it up: emergent mcp rm broken\n',
    );
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  });

  test('one that is stopped is as it should be', async () => {
    const stopped = { ...memory, health: { ...memory.health, state: 'stopped' } };
    const routes = { 'POST /mcp/servers/memory/stop': stopped };
    expect(await runMcp(routes, ['stop', 'memory'])).toMatchObject({ code: 0, stderr: '' });
  });

  test('rm, with the volumes or without', async () => {
    const gone = { id: someId, status: 'destroyed', kept_volumes: null };
    const paths = ['/data'];
    const routes = {
      'DELETE /mcp/servers/a%2Fb': gone,
      'DELETE /mcp/servers/memory?keep_volumes=true': { ...gone, kept_volumes: { paths } },
    };
    expect(await runMcp(routes, ['rm', 'a/b'])).toMatchObject({ code: 0, stdout: 'a/b\n' });
    const kept = await runMcp(routes, ['rm', '--keep-volumes', 'memory', '--json']);
    expect(JSON.parse(kept.stdout)).toEqual({ removed: ['memory'] });
    const told = await runMcp(routes, ['rm', '--keep-volumes', 'memory']);
    expect(told.stderr).toBe('kept /data of memory: emergent mcp volumes\n');
  });

  test('volumes that were kept', async () => {
    const kept = {
      ...{ id: someId, name: 'memory', owner: 'admin', provider: 'gvisor', paths: ['/data', '/b'] },
      kept_at: '2026-01-02T03:04:05.000Z',
    };
    const routes = {
      'GET /mcp/volumes': { items: [kept] },
      [`DELETE /mcp/volumes/${someId}`]: {},
    };
    expect((await runMcp(routes, ['volumes'])).stdout.split('\n')).toEqual([
      'ID                                    NAME    PROVIDER  PATHS      KEPT',
      `${someId}  memory  gvisor    /data, /b  2026-01-02T03:04:05.000Z`,
      '',
    ]);
    const { code, stdout } = await runMcp(routes, ['volumes', 'rm', someId]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${someId}\n` });
  });
});

describe('tools and call', () => {
  const sum = {
    name: 'sum',
    description: 'Adds.\nAnd more.',
    inputSchema: {
      properties: { b: { type: 'number' }, a: { type: 'number' }, unit: { type: 'string' } },
      required: ['a', 'b'],
    },
  };
  const echo = { name: 'echo', inputSchema: {} };
  const answering = (answer: object) => ({
    'POST /mcp/servers/memory/call': rpc({
      'tools/list': { tools: [sum], nextCursor: 'more' },
      'tools/list more': { tools: [echo] },
      'tools/call': answer,
    }),
  });
  const said = (text: string, isError = false) => ({ content: [{ type: 'text', text }], isError });

  test('the tools of every page', async () => {
    const { stdout } = await runMcp(answering({}), ['tools', 'memory']);
    expect(stdout.split('\n')).toEqual([
      'TOOL  ARGUMENTS                 DESCRIPTION',
      'sum   b:number a:number [unit]  Adds.',
      'echo  -                         ',
      '',
    ]);
    const json = await runMcp(answering({}), ['tools', 'memory', '--json']);
    expect(JSON.parse(json.stdout)).toEqual({ tools: [sum, echo] });
  });

  test('a call with key=value, each of the type that the tool wants', async () => {
    const args = ['call', 'memory', 'sum', 'a=2', 'b=3', 'unit=5', '--timeout', '5s'];
    const { code, stdout, bodies } = await runMcp(answering(said('5\n')), args);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '5\n' });
    expect(bodies.at(-1)).toEqual({
      method: 'tools/call',
      params: { name: 'sum', arguments: { a: 2, b: 3, unit: '5' } },
      timeout_ms: 5000,
    });
  });

  test('a call with JSON asks for nothing else; - reads it from standard input', async () => {
    const json = '{"a":[1]}';
    const word = await runMcp(answering(said('x')), ['call', 'memory', 'echo', json]);
    const input = await runMcp(answering(said('x')), ['call', 'memory', 'echo', '-'], {
      input: json,
    });
    for (const { stdout, bodies } of [word, input]) {
      expect(stdout).toBe('x\n');
      expect(bodies).toMatchObject([{ params: { name: 'echo', arguments: { a: [1] } } }]);
    }
  });

  test('what is not text is told in one line', async () => {
    const data = Buffer.alloc(2048).toString('base64');
    const content = [
      { type: 'text', text: 'see:' },
      { type: 'image', mimeType: 'image/png', data },
      { type: 'resource_link', uri: 'file:///a', name: 'A' },
      { type: 'resource', resource: { uri: 'demo://1', text: 'inside' } },
      { type: 'resource', resource: { uri: 'demo://2', mimeType: 'x/y', blob: data } },
      { type: 'smell' },
    ];
    const { stdout } = await runMcp(answering({ content }), ['call', 'memory', 'echo']);
    expect(stdout.split('\n')).toEqual([
      'see:',
      '[image: image/png, 2.0 KB; --json has it]',
      '[link to file:///a, A]',
      'inside',
      '[resource demo://2: x/y, 2.0 KB; --json has it]',
      '[smell: --json shows it]',
      '',
    ]);
    const json = await runMcp(answering({ content }), ['call', 'memory', 'echo', '--json']);
    expect(JSON.parse(json.stdout)).toEqual({ content });
    const structured = { content: [], structuredContent: { a: 1 } };
    const only = await runMcp(answering(structured), ['call', 'memory', 'echo']);
    expect(JSON.parse(only.stdout)).toEqual({ a: 1 });
  });

  test('a tool that failed: its words on standard error, exit code 1', async () => {
    const answer = said('no such node', true);
    const { code, stdout, stderr } = await runMcp(answering(answer), ['call', 'memory', 'echo']);
    expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: '', stderr: 'no such node\n' });
    const json = await runMcp(answering(answer), ['call', 'memory', 'echo', '--json']);
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout)).toEqual(answer);
  });

  test('an error of the protocol, and a tool that is not there', async () => {
    const error = { error: { code: -32602, message: 'bad params' } };
    const refused = await runMcp(answering(error), ['call', 'memory', 'echo', '{}']);
    expect(refused.stderr).toMatch(/^emergent: tools\/call: bad params \(-32602\)\. So the MCP/);
    expect(refused.code).toBe(1);
    const unknown = await runMcp(answering({}), ['call', 'memory', 'smu', 'a=1']);
    expect(unknown.stderr).toBe(
      'emergent: memory has no tool smu. See: emergent mcp tools memory\n',
    );
    const missing = await runMcp(answering({}), ['call', 'memory', 'sum', 'a=1']);
    expect(missing).toMatchObject({ code: 2, stderr: 'emergent: sum lacks b. Add: b=…\n' });
  });
});
