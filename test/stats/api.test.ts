import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SandboxStats, WorkspaceProvider } from '../../src/domain/provider.ts';
import { openTestStore, startServer } from '../api/support/server.ts';
import type { TestServer, TestStore } from '../api/support/server.ts';

const url = '/api/v1/agent/workspaces';

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

interface List {
  readonly items: readonly { readonly workspace_id: string; readonly reason: string | null }[];
  readonly left_out: number;
}

describe('GET /agent/workspaces/:id/stats', () => {
  test('has the values beside their limits', async () => {
    const id = await server.newWorkspace();
    expect(await server.admin.json(200, 'GET', `${url}/${id}/stats`)).toMatchObject({
      ...{ workspace_id: id, provider: 'memory', status: 'ready', frozen: false, reason: null },
      ...{ cpu_percent: 0, cpu_seconds: 0, cpu_limit: 2, processes: 0 },
      ...{ memory_bytes: 0, memory_limit_bytes: 4 * 2 ** 30 },
      ...{ disk_bytes: 0, disk_limit_bytes: 10 * 2 ** 30 },
    });
  });

  test('refuses as every other route does', async () => {
    const [own, foreign] = [await server.newClient('agent'), await server.newClient('agent')];
    const id = await server.newWorkspace(own);
    const path = `${url}/${id}/stats`;
    await own.json(200, 'GET', path);
    expect(await foreign.error(404, 'GET', path)).toMatchObject({ code: 'workspace_not_found' });
    await server.admin.as(undefined).error(401, 'GET', path);
    await own.error(422, 'GET', `${path}?since=1`);
    expect(await own.error(400, 'GET', `${url}/xyz/stats`)).toMatchObject({ code: 'bad_id' });
    await own.json(200, 'DELETE', `${url}/${id}`);
    expect(await own.error(404, 'GET', path)).toMatchObject({ code: 'workspace_not_found' });
  });

  test('is a conflict while a workspace is neither ready nor stopped', async () => {
    const making = Promise.withResolvers<undefined>();
    await using slow = await startServer(store, {
      wrap: (provider) =>
        changed(provider, {
          create: async (...request) => {
            await making.promise;
            return provider.create(...request);
          },
        }),
    });
    const { id } = await slow.admin.json<{ id: string }>(202, 'POST', `${url}?wait=false`);
    const error = await slow.admin.error(409, 'GET', `${url}/${id}/stats`);
    expect(error).toMatchObject({ code: 'wrong_state', details: { status: 'creating' } });
    making.resolve(undefined);
  });
});

describe('GET /agent/workspaces/stats', () => {
  test('is not taken for an id, and shows each caller what he may see', async () => {
    const [one, other] = [await server.newClient('agent'), await server.newClient('agent')];
    expect(await one.json(200, 'GET', `${url}/stats`)).toEqual({ items: [], left_out: 0 });
    const [mine, another] = [await server.newWorkspace(one), await server.newWorkspace(other)];
    const seen = async (client = server.admin): Promise<readonly string[]> =>
      (await client.json<List>(200, 'GET', `${url}/stats`)).items.map((item) => item.workspace_id);
    expect(await seen(one)).toEqual([mine]);
    expect(await seen(other)).toEqual([another]);
    expect(await seen()).toEqual(expect.arrayContaining([mine, another]));
    await one.json(200, 'POST', `${url}/${mine}/stop`);
    expect(await seen(one)).toEqual([mine]);
    await server.admin.as(undefined).error(401, 'GET', `${url}/stats`);
  });

  test('tells why one cannot be told, and ends though a provider hangs', async () => {
    const on = await openTestStore();
    await using _store = on;
    await using hanging = await startServer(on, {
      wrap: (provider) => changed(provider, { stats: hang }),
    });
    const id = await hanging.newWorkspace();
    const [{ items }, error, scrape] = await Promise.all([
      hanging.admin.json<List>(200, 'GET', `${url}/stats`),
      hanging.admin.error(504, 'GET', `${url}/${id}/stats`),
      hanging.admin.call('GET', '/metrics'),
    ]);
    expect(items).toMatchObject([
      {
        workspace_id: id,
        at: null,
        cpu_percent: null,
        disk_bytes: null,
        memory_limit_bytes: 4 * 2 ** 30,
        reason: expect.stringContaining('did not finish within') as unknown,
      },
    ]);
    expect(error.code).toBe('deadline_exceeded');
    expect(scrape.status).toBe(200);
    expect(scrape.text).toContain('emergent_store_up 1');
    expect(scrape.text).toContain('emergent_workspaces_unmeasured 1');
    expect(scrape.text).not.toContain('emergent_workspace_memory_bytes{');
  });
});

test('a scrape by an agent has its own workspaces only', async () => {
  const [one, other] = [await server.newClient('agent'), await server.newClient('agent')];
  const [mine, another] = [await server.newWorkspace(one), await server.newWorkspace(other)];
  const { text } = await one.call('GET', '/metrics');
  expect(text).toContain(`emergent_workspace_processes{workspace="${mine}",provider="memory"} 0`);
  expect(text).toMatch(/^# HELP emergent_workspace_processes /m);
  expect(text).not.toContain(another);
});

function hang(_: unknown, signal: AbortSignal): Promise<SandboxStats> {
  const { promise, reject } = Promise.withResolvers<never>();
  signal.addEventListener('abort', () => {
    reject(signal.reason as Error);
  });
  return promise;
}

/** The provider with some of its methods replaced; the store's own stays as it is. */
function changed(
  provider: WorkspaceProvider,
  changes: Partial<WorkspaceProvider>,
): WorkspaceProvider {
  return new Proxy(provider, {
    get(target, name) {
      if (name in changes) return changes[name as keyof WorkspaceProvider];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
