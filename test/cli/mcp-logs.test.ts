import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { Cli } from './support/cli.ts';
import { logLine, runMcp, startStub } from './support/mcp-stub.ts';

const lines = [logLine(1, 'ready'), logLine(2, 'hello?', 'stray'), logLine(3, 'started', 'host')];

test('the last lines', async () => {
  const routes = { 'GET /mcp/servers/memory/logs?tail=100': { items: lines } };
  expect((await runMcp(routes, ['logs', 'memory'])).stdout).toBe(
    '2026-01-02T03:04:01.000Z  stderr  ready\n' +
      '2026-01-02T03:04:02.000Z  stray   hello?\n' +
      '2026-01-02T03:04:03.000Z  host    started\n',
  );
  const json = await runMcp(routes, ['logs', 'memory', '--json']);
  expect(JSON.parse(json.stdout)).toEqual({ items: lines });
});

function send(response: ServerResponse, ...some: readonly object[]): void {
  if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const one of some) response.write(`event: line\ndata: ${JSON.stringify(one)}\n\n`);
}

test('-f goes on over a broken connection, with each line once, until Ctrl-C', async () => {
  await using stub = await startStub({
    'GET /mcp/servers/memory/logs?tail=2&follow=true': (response) => {
      send(response, ...lines.slice(0, 2));
    },
    'GET /mcp/servers/memory/logs?tail=1000&follow=true': (response) => {
      send(response, ...lines, logLine(4, 'four'));
    },
  });
  const running = new Cli(['mcp', 'logs', '-f', '--tail', '2', 'memory', '--json'], {
    env: stub.server.env,
  });
  await running.shows('stdout', 'hello?');
  stub.server.cut();
  await running.shows('stdout', 'four');
  running.kill('SIGINT');
  const { code, stdout, stderr } = await running.ended;
  const told = stdout.trimEnd().split('\n');
  expect(told.map((line) => JSON.parse(line) as unknown)).toEqual([...lines, logLine(4, 'four')]);
  expect(stderr).toMatch(/was lost; connecting again\nemergent: connected again\n$/);
  expect(code).toBe(130);
});

test('-f behind a server that began to count anew', async () => {
  const later = { ...logLine(1, 'anew'), at: '2026-01-02T04:00:00.000Z' };
  await using stub = await startStub({
    'GET /mcp/servers/memory/logs?tail=100&follow=true': (response) => {
      send(response, ...lines);
    },
    'GET /mcp/servers/memory/logs?tail=1000&follow=true': (response) => {
      send(response, later);
    },
  });
  const running = new Cli(['mcp', 'logs', '-f', 'memory'], { env: stub.server.env });
  await running.shows('stdout', 'started');
  stub.server.cut();
  await running.shows('stdout', 'anew');
  running.kill('SIGTERM');
  expect(await running.ended).toMatchObject({ code: 143 });
});

test('-f of a server that is removed ends with that', async () => {
  await using stub = await startStub({
    'GET /mcp/servers/memory/logs?tail=100&follow=true': (response) => {
      send(response, lines[0] ?? {});
      response.end();
    },
  });
  const { code, stderr } = await new Cli(['mcp', 'logs', '-f', 'memory'], {
    env: stub.server.env,
  }).ended;
  expect(stderr).toContain('there is no such MCP server');
  expect(code).toBe(1);
});
