import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ApiLimits } from '../../src/api/context.ts';
import type { Peer } from '../../src/domain/store.ts';
import type { ErrorAnswer } from './support/client.ts';
import { startMcpApi } from './support/mcp-api.ts';
import type { McpApi } from './support/mcp-api.ts';
import { RawConnection } from './support/raw-http.ts';
import { bytesOf } from './support/sse.ts';
import { eventually } from '../support/eventually.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const path = '/api/v1/mcp/servers/far';
const authorization = 'Bearer the-admin';

// The other server is one of the test's own, which answers as it is told to.
let other: Server;
let otherUrl: string;
let handler: Handler;
let seen: IncomingMessage[] = [];
let api: McpApi;
/** Where "far" is hosted. */
let peer: Peer;
const startApi = (limits: Partial<ApiLimits> = {}): Promise<McpApi> => {
  const peers = {
    number: 7,
    hostOf: async (_caller: unknown, ref: string) => (ref === 'far' ? peer : undefined),
  };
  const options = { peers, limits };
  return startMcpApi(options);
};

beforeAll(async () => {
  other = createServer((request, response) => {
    seen.push(request);
    handler(request, response);
  }).listen(0, '127.0.0.1');
  await once(other, 'listening');
  otherUrl = `http://127.0.0.1:${String((other.address() as AddressInfo).port)}`;
  api = await startApi();
});
beforeEach(() => {
  seen = [];
  peer = { number: 3, url: otherUrl };
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  other.closeAllConnections();
  other.close();
});

function send(init: RequestInit = {}, to = path): Promise<Response> {
  return fetch(api.url + to, {
    ...init,
    headers: { authorization, ...(init.headers as Record<string, string> | undefined) },
  });
}

async function errorOf(answer: Response): Promise<ErrorAnswer> {
  return ((await answer.json()) as { error: ErrorAnswer }).error;
}

/** How the request log has the last request. */
const logged = (code: string): Promise<void> =>
  eventually(() => {
    const last = api.recorded.entries().findLast(({ msg }) => msg === 'request');
    expect(last).toMatchObject({ passed_to: 3, code });
  });

/** Says what was asked and with which body. */
const echo: Handler = (request, response) => {
  void buffer(request).then((body) => {
    const { method, url, headers } = request;
    response.setHeader('content-type', 'application/json');
    response.setHeader('x-of-the-host', 'yes');
    response.statusCode = 207;
    response.end(JSON.stringify({ method, url, headers, body: body.toString() }));
  });
};

interface Echo {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

describe('what is passed on', () => {
  test.each([
    ['GET', path, undefined],
    ['DELETE', `${path}?keep_volumes=true&x=%2F`, undefined],
    ['POST', `${path}/call`, '{"method": "x"}'],
    ['POST', `${path}/mcp?a=1&a=2`, 'not even JSON'],
    ['POST', `${path}/stop`, undefined],
    ['GET', `${path}/logs?tail=5`, undefined],
  ])('%s %s: the request as it came, and the answer as it is given', async (method, to, body) => {
    handler = echo;
    const headers = { 'x-request-id': 'of-the-caller', 'mcp-session-id': 's' };
    const answer = await send({ method, headers, ...(body !== undefined && { body }) }, to);
    expect(answer.status).toBe(207);
    expect(answer.headers.get('x-of-the-host')).toBe('yes');
    expect(answer.headers.get('x-request-id')).toBe('of-the-caller');
    expect(await answer.json()).toMatchObject({
      ...{ method, url: to, body: body ?? '' },
      headers: {
        ...{ authorization, 'mcp-session-id': 's', 'x-request-id': 'of-the-caller' },
        ...{ host: new URL(otherUrl).host, 'emergent-forwarded-by': '7' },
      },
    });
    expect(api.mcp.asked).toEqual([]);
  });

  test('an address with a path keeps it before the request’s', async () => {
    handler = echo;
    peer = { number: 3, url: `${otherUrl}/behind/a` };
    expect(((await (await send()).json()) as Echo).url).toBe(`/behind/a${path}`);
    using connection = await RawConnection.open(api.port);
    connection.send(
      `GET http://here:1${path}?q HTTP/1.1`,
      ...['Host: here:1', `Authorization: ${authorization}`, '', ''],
    );
    await connection.until((text) => text.includes('"url":'));
    expect(connection.received).toContain(`"url":"/behind/a${path}?q"`);
  });

  test.each([
    ['Transfer-Encoding: chunked', '5\r\nhello\r\n0\r\n\r\n'],
    ['Connection: Content-Length, close\r\nContent-Length: 5', 'hello'],
    ['Expect: 100-continue\r\nContent-Length: 5', 'hello'],
  ])('a body with "%s" arrives as a body, whatever the method', async (header, body) => {
    handler = echo;
    using connection = await RawConnection.open(api.port);
    connection.send(
      `DELETE ${path} HTTP/1.1`,
      ...['Host: here', `Authorization: ${authorization}`, header, '', ''],
    );
    if (header.startsWith('Expect')) {
      await connection.until((text) => text.startsWith('HTTP/1.1 100 Continue'));
    }
    connection.send(body);
    await connection.until((text) => text.includes('"body":'));
    expect(connection.received).toContain('"body":"hello"');
    expect(seen).toHaveLength(1);
  });

  test('only what another server hosts, and what none has passed on before', async () => {
    expect((await send({}, '/api/v1/mcp/servers/near')).status).toBe(404);
    expect((await send({}, '/api/v1/mcp/servers')).status).toBe(200);
    expect((await send({ headers: { 'emergent-forwarded-by': '3' } })).status).toBe(404);
    expect((await send({ method: 'DELETE' }, '/api/v1/mcp/volumes/far')).status).toBe(400);
    expect((await fetch(api.url + path)).status).toBe(401);
    expect(seen).toEqual([]);
  });

  test('a page of somebody else’s is refused here, and our own origin stays here', async () => {
    handler = echo;
    const from = (origin: string): Promise<Response> =>
      send({ headers: { origin } }, `${path}/mcp`);
    expect(await errorOf(await from('https://evil.example'))).toMatchObject({ code: 'forbidden' });
    expect(seen).toEqual([]);
    expect((await from(api.url)).status).toBe(207);
    expect(seen[0]?.headers.origin).toBeUndefined();
  });
});

describe('an answer', () => {
  test('comes piece by piece, as it is given', async () => {
    const pieces = Promise.withResolvers<ServerResponse>();
    handler = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
      pieces.resolve(response);
    };
    const answer = await send({}, `${path}/mcp`);
    const reader = bytesOf(answer)[Symbol.asyncIterator]();
    const response = await pieces.promise;
    for (const text of ['data: 1\n\n', 'data: 2\n\n']) {
      response.write(text);
      const { value } = (await reader.next()) as { value: Uint8Array };
      expect(Buffer.from(value).toString()).toBe(text);
    }
    response.end();
    expect((await reader.next()).done).toBe(true);
  });

  test('given before the whole body was sent reaches a client that is still sending', async () => {
    handler = (_request, response) => {
      response.writeHead(413, { 'content-type': 'text/plain', connection: 'close' });
      response.end('too much');
    };
    const sending = httpRequest(`${api.url}${path}/mcp`, {
      method: 'POST',
      headers: { authorization, 'content-length': String(2 ** 30) },
    });
    sending.on('error', () => undefined);
    sending.write('the first of many');
    const [answer] = (await once(sending, 'response')) as [IncomingMessage];
    expect([answer.statusCode, (await buffer(answer)).toString()]).toEqual([413, 'too much']);
    expect(answer.headers.connection).toBe('close');
    sending.destroy();
  });

  test('that breaks off breaks off for the client too', async () => {
    handler = (_request, response) => {
      response.write('a beginning', () => response.destroy());
    };
    await expect((await send()).text()).rejects.toThrow();
    await logged('host_failed');
  });

  test.each(['before', 'after'])(
    'is no longer wanted when the client goes %s it began',
    async (when) => {
      const gone = Promise.withResolvers<void>();
      const came = Promise.withResolvers<void>();
      handler = (_request, response) => {
        if (when === 'after') response.flushHeaders();
        response.once('close', gone.resolve);
        came.resolve();
      };
      const client = new AbortController();
      const sent = send({ signal: client.signal });
      const failed = sent.then((answer) => answer.text()).catch(() => 'failed');
      await (when === 'after' ? sent : came.promise);
      client.abort();
      await gone.promise;
      expect(await failed).toBe('failed');
      await logged('client_closed');
    },
  );

  test('that is only listened to ends when this server stops, as one without more to say', async () => {
    await using stopping = await startApi();
    handler = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: 1\n\n');
    };
    const answer = await fetch(`${stopping.url}${path}/mcp`, { headers: { authorization } });
    const text = answer.text();
    await eventually(() => {
      expect(seen).toHaveLength(1);
    });
    await stopping.app.close();
    expect(await text).toBe('data: 1\n\n');
  });
});

describe('a host', () => {
  test('that breaks off before it answers is not asked twice', async () => {
    handler = (request) => request.socket.destroy();
    const answer = await send({ method: 'POST', body: '{}' }, `${path}/call`);
    expect(answer.status).toBe(502);
    expect(await errorOf(answer)).toMatchObject({
      code: 'host_failed',
      message: 'server 3, which hosts it, broke off before it answered: ECONNRESET',
      request_id: answer.headers.get('x-request-id'),
    });
    expect(seen).toHaveLength(1);
  });

  test('that does not speak as it is addressed is sent nothing', async () => {
    handler = echo;
    peer = { number: 3, url: otherUrl.replace('http:', 'https:') };
    const answer = await send({ method: 'POST', body: '{}' }, `${path}/call`);
    expect(answer.status).toBe(503);
    expect(await errorOf(answer)).toMatchObject({ code: 'host_unreachable' });
    expect(seen).toEqual([]);
  });

  test('is let go when the client sends no more of its body', async () => {
    await using impatient = await startApi({ requestMs: 500 });
    const gone = Promise.withResolvers<void>();
    handler = (request) => request.once('close', gone.resolve);
    using connection = await RawConnection.open(impatient.port);
    connection.send(
      `POST ${path}/call HTTP/1.1`,
      ...['Host: here', `Authorization: ${authorization}`, 'Content-Length: 2', '', '{'],
    );
    expect(await connection.answer()).toMatchObject({
      status: 400,
      body: expect.stringContaining('the body did not arrive in time') as unknown,
    });
    await gone.promise;
  });
});
