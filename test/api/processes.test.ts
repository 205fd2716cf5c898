import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { openTestStore, startServer } from './support/server.ts';
import type { TestServer, TestStore } from './support/server.ts';
import { eventsOf } from './support/sse.ts';

const workspaces = '/api/v1/agent/workspaces';

interface Process {
  readonly id: string;
  readonly pid: number;
  readonly status: string;
}

let store: TestStore;
let server: TestServer;
let id: string;
let processes: string;
beforeAll(async () => {
  store = await openTestStore();
  server = await startServer(store);
  id = await server.newWorkspace();
  processes = `${workspaces}/${id}/processes`;
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

function start(command: string, more: Record<string, unknown> = {}): Promise<Process> {
  return server.admin.json<Process>(201, 'POST', processes, { json: { command, ...more } });
}

async function ended(process: Process): Promise<Record<string, unknown>> {
  return eventually(async () => {
    const now = await server.admin.json<Record<string, unknown>>(
      200,
      'GET',
      `${processes}/${process.id}`,
    );
    expect(now['status']).toBe('exited');
    return now;
  });
}

test('a started process is shown, runs on its own and is remembered with how it ended', async () => {
  const command = 'echo "$COLOUR"; basename "$PWD"; until [ -e go ]; do sleep 0.02; done; exit 5';
  await server.admin.json(200, 'PUT', `${workspaces}/${id}/files?path=sub/x`, { body: 'x' });
  const started = await start(command, { workdir: 'sub', env: { COLOUR: 'red' } });
  expect(started).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    pid: expect.any(Number) as number,
    command,
    detached: true,
    status: 'running',
    started_at: expect.stringMatching(/^\d{4}-/) as string,
    ended_at: null,
    exit_code: null,
    signal: null,
    output_bytes: expect.any(Number) as number,
    dropped_bytes: 0,
  });
  const { items } = await server.admin.json<{ items: Process[] }>(200, 'GET', processes);
  expect(items).toContainEqual(expect.objectContaining({ id: started.id, status: 'running' }));
  await server.admin.json(200, 'PUT', `${workspaces}/${id}/files?path=sub/go`, { body: '' });
  expect(await ended(started)).toMatchObject({
    status: 'exited',
    exit_code: 5,
    signal: null,
    ended_at: expect.stringMatching(/^\d{4}-/) as string,
    output_bytes: 'red\nsub\n'.length,
  });
});

test('a command of bash is listed too, with what its caller wrote', async () => {
  const command = 'echo here; sleep 1000';
  const response = await server.admin.fetch('POST', `${workspaces}/${id}/bash`, {
    json: { command },
    headers: { accept: 'text/event-stream' },
  });
  const events = eventsOf(response);
  const first = await events.next();
  const processId = String(first.value?.data['process_id']);
  expect(await server.admin.json(200, 'GET', `${processes}/${processId}`)).toMatchObject({
    id: processId,
    pid: first.value?.data['pid'],
    command,
    detached: false,
    status: 'running',
  });
  await events.return(undefined);
});

test('a signal ends it, and the id of one that is gone is not found', async () => {
  const started = await start('exec sleep 1000');
  const path = `${processes}/${started.id}`;
  const answer = await server.admin.call('POST', `${path}/signal`, { json: { signal: 'SIGKILL' } });
  expect(answer).toMatchObject({ status: 204, text: '' });
  expect(await ended(started)).toMatchObject({ exit_code: 137, signal: 'SIGKILL' });
  const json = { signal: 'SIGTERM' };
  const again = await server.admin.error(404, 'POST', `${path}/signal`, { json });
  expect(again.code).toBe('process_not_found');
});

test('an unknown process, and one of another workspace, is a 404', async () => {
  const elsewhere = `${workspaces}/${await server.newWorkspace()}/processes`;
  const started = await start('true');
  for (const path of [`${processes}/${randomUUID()}`, `${elsewhere}/${started.id}`]) {
    const codes = [
      await server.admin.error(404, 'GET', path),
      await server.admin.error(404, 'GET', `${path}/output`),
      await server.admin.error(404, 'POST', `${path}/signal`, { json: { signal: 'SIGINT' } }),
    ].map(({ code }) => code);
    expect(codes).toEqual(Array.from({ length: 3 }, () => 'process_not_found'));
  }
});

test("an agent does not see the processes of others' workspaces", async () => {
  const stranger = await server.newClient('agent');
  const started = await start('sleep 1000');
  const json = { command: 'true' };
  const path = `${processes}/${started.id}`;
  const codes = [
    await stranger.error(404, 'GET', processes),
    await stranger.error(404, 'POST', processes, { json }),
    await stranger.error(404, 'GET', path),
    await stranger.error(404, 'GET', `${path}/output`),
    await stranger.error(404, 'POST', `${path}/signal`, { json: { signal: 'SIGINT' } }),
  ].map(({ code }) => code);
  expect(new Set(codes)).toEqual(new Set(['workspace_not_found']));
});

test('a stopped workspace has no processes to ask for', async () => {
  const stopped = await server.newWorkspace();
  await server.admin.json(200, 'POST', `${workspaces}/${stopped}/stop`);
  const path = `${workspaces}/${stopped}/processes`;
  const refused = [
    await server.admin.error(409, 'GET', path),
    await server.admin.error(409, 'POST', path, { json: { command: 'true' } }),
  ];
  for (const error of refused) expect(error.message).toContain('stopped');
});
