import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FakeClock } from '../support/clock.ts';
import { eventually } from '../support/eventually.ts';
import { RawConnection } from './support/raw-http.ts';
import { openTestStore, startServer } from './support/server.ts';
import type { TestServer, TestStore } from './support/server.ts';
import { eventsOf, framesOf, outputOf } from './support/sse.ts';
import type { ServerEvent } from './support/sse.ts';

const workspaces = '/api/v1/agent/workspaces';
const headers = { accept: 'text/event-stream' };

let store: TestStore;
let server: TestServer;
let bash: string;
beforeAll(async () => {
  store = await openTestStore();
  server = await startServer(store);
  bash = `${workspaces}/${await server.newWorkspace()}/bash`;
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

const files = (path: string): string => `${bash.replace('/bash', '/files')}?path=${path}`;

async function run(command: string): Promise<readonly ServerEvent[]> {
  const response = await server.admin.fetch('POST', bash, { json: { command }, headers });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  expect(response.headers.get('x-request-id')).toBeTruthy();
  return Array.fromAsync(eventsOf(response));
}

describe('a streamed command', () => {
  test('start first, output in order, result last', async () => {
    const events = await run('echo one; echo two >&2; echo three; exit 4');
    expect(events.at(0)).toMatchObject({
      event: 'start',
      data: {
        pid: expect.any(Number) as number,
        process_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      },
    });
    expect(outputOf(events, 'stdout').toString()).toBe('one\nthree\n');
    expect(outputOf(events, 'stderr').toString()).toBe('two\n');
    expect(events.at(-1)).toEqual({
      event: 'result',
      data: {
        exit_code: 4,
        signal: null,
        timed_out: false,
        interrupted: false,
        background: false,
        truncated: false,
        stdout_bytes: 10,
        stderr_bytes: 4,
        duration_ms: expect.any(Number) as number,
      },
    });
  });

  test('a character split between two writes comes in one piece', async () => {
    const waiting = 'until [ -e go ]; do sleep 0.02; done';
    const command = String.raw`printf 'a\xe2\x82'; ${waiting}; printf '\xac\n'`;
    const response = await server.admin.fetch('POST', bash, { json: { command }, headers });
    const output: ServerEvent['data'][] = [];
    for await (const { event, data } of eventsOf(response)) {
      if (event !== 'stdout') continue;
      output.push(data);
      await server.admin.json(200, 'PUT', files('go'));
    }
    expect(output).toEqual([{ text: 'a' }, { text: '€\n' }]);
  });

  test('bytes that are not UTF-8 come as base64, without loss', async () => {
    const events = await run('head -c 100000 /dev/urandom | tee random; printf "\\xff\\xfe"');
    const response = await server.admin.fetch('GET', files('random'));
    const random = Buffer.from(await response.arrayBuffer());
    const expected = Buffer.concat([random, Buffer.from([0xff, 0xfe])]);
    expect(outputOf(events, 'stdout').equals(expected)).toBe(true);
  });

  test('a character that never ends is still delivered', async () => {
    const events = await run(String.raw`printf 'x\xe2\x82'`);
    expect(outputOf(events, 'stdout')).toEqual(Buffer.from([0x78, 0xe2, 0x82]));
    expect(events.at(-1)?.event).toBe('result');
  });

  test('nothing of a long output is left out', async () => {
    const events = await run('seq 1 200000');
    const expected = Array.from({ length: 200_000 }, (_, i) => `${String(i + 1)}\n`).join('');
    expect(outputOf(events, 'stdout').toString()).toBe(expected);
    expect(events.at(-1)?.data).toMatchObject({ truncated: false, stdout_bytes: expected.length });
  });

  test('a refusal before the start is an ordinary error', async () => {
    const json = { command: 'true', workdir: 'missing' };
    const error = await server.admin.error(422, 'POST', bash, { json, headers });
    expect(error.message).toContain('workdir');
  });

  test('a client that goes away ends its command, with the chance to tidy up', async () => {
    const away = new AbortController();
    const json = {
      command: 'trap "echo; sleep 0.5; touch tidied; exit" TERM; echo; sleep 1000 & wait',
    };
    const response = await server.admin.fetch('POST', bash, { json, headers, signal: away.signal });
    await expect(async () => {
      for await (const { event } of eventsOf(response)) {
        if (event === 'stdout') away.abort();
      }
    }).rejects.toThrow('abort');
    await eventually(async () => {
      expect(server.engine.operationsInFlight).toBe(0);
      expect((await server.admin.call('GET', files('tidied'))).status).toBe(200);
    });
  });
});

test('a client that does not read holds its command back', async () => {
  const flood = 'yes | head -c 50000000';
  const body = JSON.stringify({ command: `${flood}; touch finished` });
  using connection = await RawConnection.open(server.port);
  connection.socket.pause();
  connection.send(
    `POST ${bash} HTTP/1.1`,
    ...['Host: test', `Authorization: Bearer ${server.admin.token ?? ''}`],
    ...['Accept: text/event-stream', 'Content-Type: application/json'],
    ...[`Content-Length: ${String(body.length)}`, '', body],
  );
  await eventually(() => {
    expect(server.engine.operationsInFlight).toBe(1);
  });
  // A reader gets through the same output meanwhile.
  expect(outputOf(await run(flood), 'stdout')).toHaveLength(50_000_000);
  await server.admin.error(404, 'GET', files('finished'));
  connection.socket.destroy();
  await eventually(() => {
    expect(server.engine.operationsInFlight).toBe(0);
  });
  await server.admin.error(404, 'GET', files('finished'));
});

test('a quiet stream shows a sign of life every 15 seconds', async () => {
  const clock = new FakeClock();
  await using quiet = await startServer(store, { clock });
  const id = await quiet.newWorkspace();
  const response = await quiet.admin.fetch('POST', `${workspaces}/${id}/bash`, {
    json: { command: 'sleep 1000' },
    headers,
  });
  const events = framesOf(response);
  expect((await events.next()).value).toMatchObject({ event: 'start' });
  for (let i = 0; i < 3; i++) {
    await clock.whenSleeping();
    await clock.advance(15_000);
    expect((await events.next()).value).toMatchObject({ event: 'comment' });
  }
  await events.return(undefined);
  await eventually(() => {
    expect(quiet.engine.operationsInFlight).toBe(0);
    expect(clock.sleeping).toBe(0);
  });
});

test('a failure after the start is the last event', async () => {
  const lost = new Error('the link is gone');
  await using broken = await startServer(store, {
    wrap: (provider) =>
      new Proxy(provider, {
        get: (target, name) => {
          if (name !== 'exec') {
            const value: unknown = Reflect.get(target, name, target);
            return typeof value === 'function' ? (value.bind(target) as unknown) : value;
          }
          return async (...args: Parameters<typeof target.exec>) => {
            const process = await target.exec(...args);
            return {
              pid: process.pid,
              kill: process.kill.bind(process),
              events: (async function* () {
                for await (const event of process.events) {
                  yield event;
                  throw lost;
                }
              })(),
            };
          };
        },
      }),
  });
  const id = await broken.newWorkspace();
  const response = await broken.admin.fetch('POST', `${workspaces}/${id}/bash`, {
    json: { command: 'printf "a\\xe2"; sleep 1000' },
    headers,
  });
  const events = await Array.fromAsync(eventsOf(response));
  expect(events.map(({ event }) => event)).toEqual(['start', 'stdout', 'stdout', 'error']);
  expect(events.at(-1)?.data).toMatchObject({
    error: { code: 'internal', request_id: response.headers.get('x-request-id') },
  });
  expect(JSON.stringify(events)).not.toContain('the link is gone');
  const logged = broken.recorded.entries().find(({ msg }) => msg === 'request failed');
  expect(JSON.stringify(logged)).toContain('the link is gone');
});
