import { mkdtemp, readdir, rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Cli, cli } from './support/cli.ts';
import { ScriptedServer, someId, someProcess } from './support/scripted-server.ts';

function event(name: string, data: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

function beginStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(
    event('start', { pid: 7, process_id: someProcess }) + event('stdout', { text: 'some\n' }),
  );
}

const workspace = {
  id: someId,
  provider: 'gvisor',
  image: 'base',
  network: 'nat',
  resource_limits: { cpu: 1, memory: '1G', disk: '1G' },
  repository_url: null,
  metadata: {},
};

test('a stream that breaks: what came is printed, then the reason, exit code 125', async () => {
  await using server = await ScriptedServer.start((_, response) => {
    beginStream(response);
  });
  const running = new Cli(['exec', someId, '--', 'x'], { env: server.env });
  await running.shows('stdout', 'some\n');
  server.cut();
  const { code, stderr } = await running.ended;
  expect(stderr).toMatch(/^emergent: the connection to http:\/\/127\.0\.0\.1:\d+ was lost\. /);
  expect(stderr).toContain(
    `the command goes on; when it is back: emergent attach ${someId} ${someProcess}\n`,
  );
  expect(code).toBe(125);
});

test('a server that stops says so, and where the command is found again', async () => {
  const error = { code: 'shutting_down', message: 'the server is stopping', hint: 'Later.' };
  await using server = await ScriptedServer.start((_, response) => {
    beginStream(response);
    response.end(event('error', { error }));
  });
  const { code, stderr } = await cli(['exec', '--json', someId, '--', 'x'], { env: server.env });
  expect(JSON.parse(stderr)).toMatchObject({
    error: {
      ...error,
      hint: `When the server is back: emergent attach ${someId} ${someProcess}`,
      details: { workspace_id: someId, process_id: someProcess },
    },
  });
  expect(code).toBe(125);
});

test('a stream that ends without a result is a lost connection too', async () => {
  await using server = await ScriptedServer.start((_, response) => {
    beginStream(response);
    response.end();
  });
  const { code, stdout, stderr } = await cli(['exec', someId, '--', 'x'], { env: server.env });
  expect({ code, stdout }).toEqual({ code: 125, stdout: 'some\n' });
  expect(stderr).toContain('was lost');
});

test('an error in the middle of the stream is told with its hint', async () => {
  const error = { code: 'sandbox_unreachable', message: 'it is gone', hint: 'Try again.' };
  await using server = await ScriptedServer.start((_, response) => {
    beginStream(response);
    response.end(event('error', { error }));
  });
  const { code, stderr } = await cli(['exec', someId, '--', 'x'], { env: server.env });
  expect(stderr).toBe('emergent: it is gone. Try again.\n');
  expect(code).toBe(125);
});

test('events may be cut anywhere, carry comments and kinds that are not known yet', async () => {
  const stream =
    ': hello\n\n' +
    event('start', { pid: 7, process_id: someProcess }) +
    event('weather', { sun: true }) +
    event('stdout', { text: 'gr\u00fc\u00df' }).replaceAll('\n', '\r\n') +
    event('stdout', { base64: Buffer.from([0xff, 0x00, 0x0a]).toString('base64') }) +
    event('result', { exit_code: 9, signal: null, timed_out: false });
  await using server = await ScriptedServer.start((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const byte of Buffer.from(stream)) response.write(Buffer.of(byte));
    response.end();
  });
  const { code, bytes } = await cli(['exec', someId, '--', 'x'], { env: server.env });
  expect(bytes).toEqual(
    Buffer.concat([Buffer.from('gr\u00fc\u00df'), Buffer.from([0xff, 0, 0x0a])]),
  );
  expect(code).toBe(9);
});

test('run destroys its workspace also after a lost stream', async () => {
  await using server = await ScriptedServer.start((request, response) => {
    if (request.method === 'DELETE') response.end('{}');
    else if (request.url?.endsWith('/bash') === true) response.destroy();
    else response.writeHead(201).end(JSON.stringify(workspace));
  });
  const { code, stderr } = await cli(['run', '--', 'x'], { env: server.env });
  expect(stderr).toContain('was lost');
  expect(code).toBe(125);
  expect(server.requests.at(-1)).toBe(`DELETE /api/v1/agent/workspaces/${someId}`);
});

test('run says what it could not destroy', async () => {
  await using server = await ScriptedServer.start((request, response) => {
    if (request.method === 'DELETE') response.destroy();
    else if (request.url?.endsWith('/bash') !== true) {
      response.writeHead(201).end(JSON.stringify(workspace));
    } else {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(event('result', { exit_code: 0, signal: null, timed_out: false }));
    }
  });
  const { code, stderr } = await cli(['run', '--', 'x'], { env: server.env });
  expect(stderr).toMatch(new RegExp(`^emergent: workspace ${someId} was not destroyed: `));
  expect(stderr).toContain(`Try: emergent destroy ${someId}`);
  expect(code).toBe(125);
});

test('run that loses the server tells both: where the command is, and what was not destroyed', async () => {
  await using server = await ScriptedServer.start((request, response) => {
    if (request.method === 'DELETE') response.destroy();
    else if (request.url?.endsWith('/bash') === true) {
      beginStream(response);
      response.end();
    } else response.writeHead(201).end(JSON.stringify(workspace));
  });
  const { code, stderr } = await cli(['run', '--', 'x'], { env: server.env });
  const lines = stderr.trimEnd().split('\n');
  expect(lines).toHaveLength(2);
  expect(lines[0]).toContain(`emergent attach ${someId} ${someProcess}`);
  expect(lines[1]).toContain(`Try: emergent destroy ${someId}`);
  expect(code).toBe(125);
});

test('run: Ctrl-C while the workspace is being created destroys it when it is there', async () => {
  const creating = Promise.withResolvers<ServerResponse>();
  await using server = await ScriptedServer.start((request, response) => {
    if (request.method === 'DELETE') response.end('{}');
    else creating.resolve(response);
  });
  const running = new Cli(['run', '--', 'x'], { env: server.env });
  const answer = await creating.promise;
  running.kill('SIGINT');
  await running.shows('stderr', 'waiting for the workspace');
  answer.writeHead(201).end(JSON.stringify(workspace));
  expect(await running.ended).toMatchObject({ code: 130 });
  expect(server.requests.at(-1)).toBe(`DELETE /api/v1/agent/workspaces/${someId}`);
});

test('a download that breaks leaves neither a part nor a temporary file', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'emergent-cli-'));
  await using server = await ScriptedServer.start((_, response) => {
    response.writeHead(200, { 'content-length': '1000' });
    response.write('part');
  });
  const args = ['cp', `${someId}:file`, 'file'];
  const running = new Cli(args, { env: server.env, cwd: directory });
  await server.answering;
  server.cut();
  const { code, stderr } = await running.ended;
  expect(stderr).toContain('was lost');
  expect(code).toBe(1);
  expect(await readdir(directory)).toEqual([]);
  await rm(directory, { recursive: true });
});

test('pages are followed to the end, and an ambiguous beginning names its matches', async () => {
  const other = '1f0c1f0c-0000-4000-8000-000000000002';
  await using server = await ScriptedServer.start((request, response) => {
    const second = request.url?.includes('cursor=more') === true;
    const page = second
      ? { items: [{ ...workspace, id: other }], next_cursor: null }
      : { items: [workspace], next_cursor: 'more' };
    response.end(JSON.stringify(page));
  });
  const all = await cli(['list', '--all', '--quiet'], { env: server.env });
  expect(all.stdout).toBe(`${someId}\n${other}\n`);
  const first = await cli(['list', '--quiet'], { env: server.env });
  expect(first).toMatchObject({
    stdout: `${someId}\n`,
    stderr: 'There are more: emergent list --all\n',
  });
  const { code, stderr } = await cli(['get', '1f0c'], { env: server.env });
  expect(stderr).toBe(
    `emergent: 1f0c begins several ids: ${someId}, ${other}. Write more of the id.\n`,
  );
  expect(code).toBe(1);
});
