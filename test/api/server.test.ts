import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EmergentError } from '../../src/domain/errors.ts';
import { FakeClock } from '../support/clock.ts';
import { eventually } from '../support/eventually.ts';
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

describe('/healthz', () => {
  test('is fine while the store answers', async () => {
    const nobody = server.admin.as(undefined);
    expect(await nobody.json(200, 'GET', '/healthz')).toEqual({ status: 'ok' });
  });

  test('says why when it does not, asks again after a second, and tells strangers no secrets', async () => {
    const clock = new FakeClock();
    let asked = 0;
    let failure: Error | undefined = new EmergentError('store_unavailable', 'the database is away');
    const ready = async (): Promise<void> => {
      asked += 1;
      if (failure) throw failure;
    };
    await using sick = await startServer(store, { clock, ready });
    const nobody = sick.admin.as(undefined);
    const first = await nobody.error(503, 'GET', '/healthz');
    expect(first).toMatchObject({ code: 'store_unavailable', message: 'the database is away' });

    failure = new Error('connect to postgres://user:password@host failed');
    await nobody.error(503, 'GET', '/healthz');
    expect(asked).toBe(1);
    await clock.advance(1_000);
    const second = await nobody.error(503, 'GET', '/healthz');
    expect(second.message).toBe('the store does not answer');
    expect(asked).toBe(2);

    failure = undefined;
    await clock.advance(1_000);
    await nobody.json(200, 'GET', '/healthz');
  });
});

describe('/metrics', () => {
  test('counts requests by route template and status, and shows what runs', async () => {
    const id = await server.newWorkspace();
    await server.admin.json(200, 'GET', `/api/v1/agent/workspaces/${id}`);
    await server.admin.error(404, 'GET', '/no/such/path');
    await server.admin.error(400, 'GET', '/%zz');
    const answer = await server.admin.call('GET', '/metrics');
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toContain('text/plain');
    const route = 'method="GET",route="/api/v1/agent/workspaces/:id",status="200"';
    for (const line of [
      `emergent_http_requests_total{${route}} 1`,
      `emergent_http_request_duration_seconds_count{${route}} 1`,
      'emergent_http_requests_total{method="GET",route="unmatched",status="404"} 1',
      'emergent_http_requests_total{method="GET",route="unmatched",status="400"} 1',
      'emergent_workspaces{provider="memory"} 1',
      'emergent_provider_up{provider="memory"} 1',
      'emergent_store_up 1',
      'emergent_running_processes 0',
      'process_cpu_seconds_total',
      'nodejs_eventloop_lag_seconds',
    ]) {
      expect(answer.text).toContain(line);
    }
    const requests = answer.text.split('\n').filter((line) => line.includes('emergent_http_'));
    expect(requests.join('\n')).not.toContain(id);
  });

  test('goes on when the store is away, and says so', async () => {
    let away = false;
    await using sick = await startServer(store, {
      wrapStore: (store) => ({
        ...store,
        workspaces: {
          ...store.workspaces,
          countByProvider: () =>
            away
              ? Promise.reject(new EmergentError('store_unavailable', 'away'))
              : store.workspaces.countByProvider(),
        },
        [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
      }),
    });
    expect((await sick.admin.call('GET', '/metrics')).text).toContain('emergent_store_up 1');
    away = true;
    const answer = await sick.admin.call('GET', '/metrics');
    expect(answer.status).toBe(200);
    expect(answer.text).toContain('emergent_store_up 0');
    expect(answer.text).not.toContain('emergent_provider_up{');
    const error = await sick.admin.error(503, 'GET', '/api/v1/agent/workspaces/providers');
    expect(error.code).toBe('store_unavailable');
  });
});

describe('X-Request-Id', () => {
  test("a caller's own is kept when it is harmless", async () => {
    const headers = { 'x-request-id': 'job-7/step:1' };
    const answer = await server.admin.call('GET', '/healthz', { headers });
    expect(answer.headers.get('x-request-id')).toBe('job-7/step:1');
  });

  test.each(['a b', '"quoted"', 'x'.repeat(129)])('%s is replaced', async (given) => {
    const headers = { 'x-request-id': given };
    const answer = await server.admin.call('GET', '/healthz', { headers });
    expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe('the log', () => {
  test('has one line per request, with who and what but no contents', async () => {
    const headers = { 'x-request-id': 'traced' };
    const id = await server.newWorkspace();
    const json = { command: 'echo confidential', env: { KEY: 'hidden' } };
    await server.admin.json(200, 'POST', `/api/v1/agent/workspaces/${id}/bash`, { json, headers });
    const mine = server.recorded.entries().filter((entry) => entry['request_id'] === 'traced');
    expect(mine).toEqual([
      {
        level: 'info',
        msg: 'request',
        time: expect.any(String) as string,
        method: 'POST',
        route: '/api/v1/agent/workspaces/:id/bash',
        status: 200,
        ms: expect.any(Number) as number,
        request_id: 'traced',
        token_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      },
    ]);
    expect(server.recorded.lines.join('')).not.toMatch(/confidential|hidden/);
  });

  test('holds what a caller is not told of an unforeseen failure', async () => {
    await using broken = await startServer(store, {
      wrap: (provider) => {
        provider.readFile = () => Promise.reject(new TypeError('x is not a function'));
        return provider;
      },
    });
    const id = await broken.newWorkspace();
    const error = await broken.admin.error(
      500,
      'GET',
      `/api/v1/agent/workspaces/${id}/files?path=a`,
    );
    expect(error).toMatchObject({ code: 'internal' });
    expect(JSON.stringify(error)).not.toContain('not a function');
    const entry = broken.recorded.entries().find(({ level }) => level === 'error');
    expect(entry).toMatchObject({ msg: 'request failed', request_id: error.request_id });
    expect(JSON.stringify(entry)).toContain('x is not a function');
  });
});

test('an answer that does not fit its schema is never sent', async () => {
  await using broken = await startServer(store, {
    wrap: (provider) => {
      const capabilities = provider.capabilities.bind(provider);
      provider.capabilities = async () => ({
        ...(await capabilities()),
        isolation: 'hope' as 'none',
      });
      return provider;
    },
  });
  const error = await broken.admin.error(500, 'GET', '/api/v1/agent/workspaces/providers');
  expect(error.code).toBe('internal');
  expect(broken.recorded.lines.join('')).toContain('capabilities');
});

test('a create whose client goes away is undone', async () => {
  const started = Promise.withResolvers<AbortSignal>();
  await using slow = await startServer(store, {
    wrap: (provider) => {
      provider.create = async (_spec, signal) => {
        started.resolve(signal);
        const { promise, reject } = Promise.withResolvers<never>();
        signal.addEventListener('abort', () => {
          reject(signal.reason as Error);
        });
        return promise;
      };
      return provider;
    },
  });
  const away = new AbortController();
  const workspaces = '/api/v1/agent/workspaces';
  const agent = await slow.newClient('agent');
  const answer = agent.fetch('POST', workspaces, { signal: away.signal });
  await started.promise;
  const list = (): Promise<{ items: unknown[] }> => agent.json(200, 'GET', workspaces);
  expect((await list()).items).toHaveLength(1);
  away.abort();
  await expect(answer).rejects.toThrow('abort');
  await eventually(async () => {
    expect((await list()).items).toEqual([]);
  });
});
