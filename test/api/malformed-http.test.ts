import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { FakeClock } from '../support/clock.ts';
import { RawConnection } from './support/raw-http.ts';
import { openTestStore, startServer } from './support/server.ts';
import type { TestServer, TestStore } from './support/server.ts';

let store: TestStore;
let server: TestServer;
beforeAll(async () => {
  store = await openTestStore();
  server = await startServer(store);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});
afterEach(async () => {
  await server.admin.json(200, 'GET', '/api/v1/tokens');
});

function tokenLine(of: TestServer): string {
  return `Authorization: Bearer ${of.admin.token ?? ''}`;
}

describe('what is not HTTP is refused in JSON', () => {
  test.each([
    ['a bad header', ['GET / HTTP/1.1', 'Host: test', 'Bad Header: x', '', '']],
    ['a bad method', ['FETCH / HTTP/1.1', 'Host: test', '', '']],
    ['another protocol', ['SSH-2.0-OpenSSH_9.2', '', '']],
    ['huge headers', ['GET / HTTP/1.1', 'Host: test', `X-Large: ${'a'.repeat(70_000)}`, '', '']],
    ['two lengths', ['POST / HTTP/1.1', 'Content-Length: 1', 'Content-Length: 2', '', '']],
    [
      'a length and chunks',
      ['POST / HTTP/1.1', 'Content-Length: 1', 'Transfer-Encoding: chunked', '', ''],
    ],
    ['no Host', ['GET /healthz HTTP/1.1', '', '']],
    ['an unknown expectation', ['GET /healthz HTTP/1.1', 'Host: test', 'Expect: magic', '', '']],
  ])('%s', async (_name, lines) => {
    using connection = await RawConnection.open(server.port);
    connection.send(...lines);
    const answer = await connection.answer();
    expect(answer.status).toBe(400);
    expect(answer.headers['content-type']).toContain('application/json');
    const { error } = JSON.parse(answer.body) as { error: Record<string, string> };
    expect(error).toMatchObject({
      code: 'malformed_request',
      request_id: expect.any(String) as string,
    });
    expect(answer.headers['x-request-id']).toBe(error['request_id']);
    expect(answer.body).not.toContain('at ');
  });

  test.each(['/api/v1/agent/workspaces/%zz', '/%', '/%c3%28/x', '/healthz?a=%zz', '/healthz?%ff'])(
    'the undecodable path %s',
    async (path) => {
      const error = await server.admin.error(400, 'GET', path);
      expect(error.code).toBe('malformed_request');
      expect(error.message).toContain('percent-encoding');
    },
  );

  test('a broken chunk in the middle of a body', async () => {
    using connection = await RawConnection.open(server.port);
    connection.send(
      'POST /api/v1/tokens HTTP/1.1',
      ...['Host: test', tokenLine(server), 'Content-Type: application/json'],
      ...['Transfer-Encoding: chunked', '', '5', '{"nam', 'zzz', '', ''],
    );
    expect((await connection.answer()).status).toBe(400);
    await connection.closed;
  });
});

test('nothing is written into an answer that has begun', async () => {
  const id = await server.newWorkspace();
  const body = JSON.stringify({ command: 'sleep 1000' });
  using connection = await RawConnection.open(server.port);
  connection.send(
    `POST /api/v1/agent/workspaces/${id}/bash HTTP/1.1`,
    ...['Host: test', tokenLine(server), 'Accept: text/event-stream'],
    ...['Content-Type: application/json', `Content-Length: ${String(body.length)}`, '', body],
  );
  await connection.until((text) => text.includes('event: start'));
  connection.send('GET /healthz HTTP/1.1', 'Host: test', '', 'this is not HTTP', '', '');
  await connection.closed;
  expect(connection.received.match(/HTTP\/1\.1/g)).toHaveLength(1);
});

describe('slow clients', () => {
  test('headers that never end', async () => {
    await using impatient = await startServer(store, { limits: { requestMs: 100 } });
    using connection = await RawConnection.open(impatient.port);
    connection.send('GET /healthz HTTP/1.1', 'Host: te');
    const answer = await connection.answer();
    expect(answer.status).toBe(400);
    expect(answer.body).toContain('did not arrive in time');
    await connection.closed;
  });

  test('a JSON body that trickles in has 30 seconds as a whole', async () => {
    const clock = new FakeClock();
    await using server30 = await startServer(store, { clock });
    using connection = await RawConnection.open(server30.port);
    connection.send(
      'POST /api/v1/tokens HTTP/1.1',
      ...['Host: test', tokenLine(server30), 'Content-Type: application/json'],
      ...['Content-Length: 1000', '', '{'],
    );
    for (let i = 0; i < 2; i++) {
      await clock.whenSleeping();
      await clock.advance(14_000);
      expect(connection.received).toBe('');
      connection.send(' ');
      await clock.whenSleeping();
    }
    await clock.advance(2_000);
    const answer = await connection.answer();
    expect(answer.status).toBe(400);
    expect(answer.body).toContain('the body did not arrive in time');
  });

  test('an upload may take for ever, but not stand still', async () => {
    const clock = new FakeClock();
    await using patient = await startServer(store, { clock });
    const id = await patient.newWorkspace();
    using connection = await RawConnection.open(patient.port);
    connection.send(
      `PUT /api/v1/agent/workspaces/${id}/files?path=slow HTTP/1.1`,
      ...['Host: test', tokenLine(patient), 'Content-Length: 1000', '', ''],
    );
    await clock.whenSleeping();
    await clock.advance(119_000);
    expect(connection.received).toBe('');
    await clock.advance(2_000);
    const answer = await connection.answer();
    expect(answer.body).toContain('the body did not arrive in time');
    await patient.admin.error(404, 'GET', `/api/v1/agent/workspaces/${id}/files?path=slow`);
  });
});

test('a client that vanishes in the middle of a JSON body does no harm', async () => {
  using connection = await RawConnection.open(server.port);
  connection.send(
    'POST /api/v1/tokens HTTP/1.1',
    ...['Host: test', tokenLine(server), 'Content-Type: application/json'],
    ...['Content-Length: 100', '', '{"na'],
  );
  connection.socket.destroySoon();
  await connection.closed;
});
