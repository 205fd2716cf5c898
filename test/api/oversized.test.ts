import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { FakeClock } from '../support/clock.ts';
import { RawConnection } from './support/raw-http.ts';
import { openTestStore, startServer } from './support/server.ts';
import type { TestServer, TestStore } from './support/server.ts';

const workspaces = '/api/v1/agent/workspaces';
const gigabyte = 2 ** 30;
const filler = 'a'.repeat(2 ** 20);

let store: TestStore;
let server: TestServer;
let authorization: string;
beforeAll(async () => {
  store = await openTestStore();
  // What a client goes on to send is thrown away for a second, which must not pass on a loaded machine.
  server = await startServer(store, { clock: new FakeClock() });
  authorization = `Authorization: Bearer ${server.admin.token ?? ''}`;
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});
afterEach(async () => {
  await server.admin.json(200, 'GET', workspaces);
});

function head(method: string, path: string, ...headers: readonly string[]): string {
  return [`${method} ${path} HTTP/1.1`, 'Host: test', ...headers, '', ''].join('\r\n');
}

/** Goes on sending for as long as the server takes it, as a careless client does. */
async function sendUntilClosed(connection: RawConnection, piece: string): Promise<number> {
  let sent = 0;
  const { socket } = connection;
  while (!socket.closed && socket.writable && sent < gigabyte) {
    if (!socket.write(piece)) {
      const { promise, resolve } = Promise.withResolvers<void>();
      socket.once('drain', resolve).once('close', resolve);
      await promise;
    }
    sent += piece.length;
  }
  return sent;
}

const chunk = `${filler.length.toString(16)}\r\n${filler}\r\n`;

describe('a body of a gigabyte', () => {
  const json = 'Content-Type: application/json';
  const declared = `Content-Length: ${String(gigabyte)}`;
  const chunked = 'Transfer-Encoding: chunked';

  test.each([
    ['without a token, declared', 401, 'unauthenticated', [json, declared], filler],
    ['without a token, chunked', 401, 'unauthenticated', [json, chunked], chunk],
    ['JSON, declared', 413, 'body_too_large', ['auth', json, declared], filler],
    ['JSON, chunked', 413, 'body_too_large', ['auth', json, chunked], chunk],
  ])(
    '%s: refused at once, and the connection closed',
    async (_name, status, code, headers, piece) => {
      using connection = await RawConnection.open(server.port);
      const lines = headers.map((line) => (line === 'auth' ? authorization : line));
      connection.send(head('POST', workspaces, ...lines));
      const sending = sendUntilClosed(connection, piece);
      const answer = await connection.answer();
      expect(answer.status).toBe(status);
      expect(answer.headers['connection']).toBe('close');
      expect(JSON.parse(answer.body)).toMatchObject({ error: { code } });
      await connection.closed;
      // Not reset: a reset may overtake the answer on its way to the client.
      expect(connection.failure).toBeUndefined();
      expect(await sending).toBeLessThan(gigabyte / 4);
    },
  );

  test('nothing needs to be sent to be refused', async () => {
    using connection = await RawConnection.open(server.port);
    connection.send(head('POST', workspaces, json, declared));
    expect((await connection.answer()).status).toBe(401);
    await connection.closed;
  });

  test('for a file: refused by its declared length and by what comes', async () => {
    await using limited = await startServer(store, { limits: { fileBytes: 4 * 2 ** 20 } });
    const id = await limited.newWorkspace();
    const path = `${workspaces}/${id}/files?path=big`;
    for (const [framing, piece] of [
      [declared, filler],
      [chunked, chunk],
    ] as const) {
      using connection = await RawConnection.open(limited.port);
      connection.send(head('PUT', path, authorization, framing));
      const sending = sendUntilClosed(connection, piece);
      const answer = await connection.answer();
      expect(answer.status).toBe(413);
      expect(JSON.parse(answer.body)).toMatchObject({
        error: { code: 'body_too_large', details: { max_bytes: 4 * 2 ** 20 } },
      });
      await connection.closed;
      await sending;
    }
    await limited.admin.error(404, 'GET', path);
  });
});

test('an ordinary client that sends too much gets its answer', async () => {
  const body = JSON.stringify({ provider: 'a'.repeat(3 * 2 ** 20) });
  const headers = { 'content-type': 'application/json' };
  const error = await server.admin.error(413, 'POST', workspaces, { body, headers });
  expect(error.message).toContain('1048576 bytes');
});

describe('a client that asks before it sends its body', () => {
  const expects = 'Expect: 100-continue';

  test('is told to go on', async () => {
    using connection = await RawConnection.open(server.port);
    const json = ['Content-Type: application/json', 'Content-Length: 2'];
    connection.send(head('POST', workspaces, authorization, expects, ...json));
    expect((await connection.answer()).status).toBe(100);
    connection.send('{}');
    expect((await connection.answer()).status).toBe(201);
  });

  test.each([
    ['without a token', 401, []],
    ['that is too large', 413, ['auth']],
  ])('%s is refused without it', async (_name, status, extra) => {
    using connection = await RawConnection.open(server.port);
    const size = ['Content-Type: application/json', `Content-Length: ${String(gigabyte)}`];
    const lines = extra.map(() => authorization);
    connection.send(head('POST', workspaces, expects, ...size, ...lines));
    expect((await connection.answer()).status).toBe(status);
    await connection.closed;
  });
});
