import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FakeClock } from '../support/clock.ts';
import { eventually } from '../support/eventually.ts';
import { openTestStore, startServer } from './support/server.ts';
import type { TestServer, TestStore } from './support/server.ts';
import { eventsOf } from './support/sse.ts';

const workspaces = '/api/v1/agent/workspaces';

let store: TestStore;
let server: TestServer;
let id: string;
let bash: string;
beforeAll(async () => {
  store = await openTestStore();
  server = await startServer(store);
  id = await server.newWorkspace();
  bash = `${workspaces}/${id}/bash`;
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

function run(json: Record<string, unknown>): Promise<Record<string, unknown>> {
  return server.admin.json(200, 'POST', bash, { json });
}

describe('a command answered once', () => {
  test('both outputs, the exit code and the sizes', async () => {
    expect(await run({ command: 'echo out; echo err >&2; exit 3' })).toEqual({
      stdout: 'out\n',
      stderr: 'err\n',
      exit_code: 3,
      signal: null,
      timed_out: false,
      interrupted: false,
      background: false,
      truncated: false,
      stdout_bytes: 4,
      stderr_bytes: 4,
      duration_ms: expect.any(Number) as number,
    });
  });

  test('working directory and environment', async () => {
    await run({ command: 'mkdir -p deep/er' });
    const result = await run({
      command: 'basename "$PWD"; echo "$COLOUR"',
      workdir: 'deep/er',
      env: { COLOUR: 'red' },
    });
    expect(result['stdout']).toBe('er\nred\n');
  });

  test('a timeout is a result with what was printed before it', async () => {
    const clock = new FakeClock(new Date());
    await using timed = await startServer(store, { engine: { clock } });
    const json = { command: 'echo begun; touch begun; exec sleep 1000', timeout_ms: 300 };
    const result = timed.admin.json(200, 'POST', bash, { json });
    await eventually(async () => {
      const begun = await server.admin.call('GET', `${workspaces}/${id}/files?path=begun`);
      expect(begun.status).toBe(200);
    });
    await clock.advance(300);
    expect(await result).toMatchObject({
      stdout: 'begun\n',
      timed_out: true,
      signal: 'SIGTERM',
      duration_ms: 300,
    });
  });

  test('much output is cut in the middle, and counted whole', async () => {
    const result = await run({ command: 'yes | head -c 1000000' });
    expect(result).toMatchObject({ truncated: true, stdout_bytes: 1_000_000 });
    expect(String(result['stdout']).length).toBeLessThan(60_000);
  });

  test('a client that goes away ends its command, with the chance to tidy up', async () => {
    const away = new AbortController();
    const command =
      'trap "touch tidied; exit" TERM; rm -f tidied; touch running; sleep 1000 & wait';
    const answer = server.admin.fetch('POST', bash, { json: { command }, signal: away.signal });
    const files = `${workspaces}/${id}/files`;
    await eventually(() => server.admin.json(200, 'POST', bash, { json: { command: 'true' } }));
    await eventually(async () => {
      expect((await server.admin.call('GET', `${files}?path=running`)).status).toBe(200);
    });
    away.abort();
    await expect(answer).rejects.toThrow('abort');
    await eventually(async () => {
      expect((await server.admin.call('GET', `${files}?path=tidied`)).status).toBe(200);
      expect(server.engine.operationsInFlight).toBe(0);
    });
    const line = server.recorded.entries().find((entry) => entry['status'] === 499);
    expect(line).toMatchObject({ msg: 'request', code: 'client_closed' });
  });
});

describe('signals', () => {
  test('reach the running command by its process id', async () => {
    const headers = { accept: 'text/event-stream' };
    // It waits for its child, which the signal ends too: nothing is left of its group then.
    const json = { command: 'sleep 1000 & trap "wait; echo caught; exit 7" USR1; echo set; wait' };
    const response = await server.admin.fetch('POST', bash, { json, headers });
    let signal = '';
    const seen: string[] = [];
    for await (const { event, data } of eventsOf(response)) {
      if (event === 'start') {
        signal = `${workspaces}/${id}/processes/${String(data['process_id'])}/signal`;
      }
      if (event === 'stdout') seen.push(String(data['text']));
      if (event === 'result') expect(data).toMatchObject({ exit_code: 7 });
      if (seen.join('') !== 'set\n') continue;
      const answer = await server.admin.call('POST', signal, { json: { signal: 'SIGUSR1' } });
      expect(answer).toMatchObject({ status: 204, text: '' });
    }
    expect(seen.join('')).toBe('set\ncaught\n');
    const error = await server.admin.error(404, 'POST', signal, { json: { signal: 'SIGINT' } });
    expect(error.code).toBe('process_not_found');
  });
});
