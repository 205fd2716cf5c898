import { randomUUID } from 'node:crypto';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { verifies } from '../support/verifies.ts';
import { openTestStore, startServer } from './support/server.ts';
import type { TestServer, TestStore } from './support/server.ts';

const workspaces = '/api/v1/agent/workspaces';

interface Workspace {
  readonly id: string;
  readonly owner: string;
  readonly provider: string;
  readonly provider_workspace_id: string;
  readonly status: string;
  readonly resource_limits: Readonly<Record<string, unknown>>;
  readonly created_at: string;
  readonly expires_at: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}
interface Page {
  readonly items: readonly Workspace[];
  readonly next_cursor: string | null;
}

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

describe('create', () => {
  verifies(
    [
      'lifecycle/successful-workspace-creation-with-default-settings',
      'orchestration/no-provider-specified-defaults-to-auto',
    ],
    'an empty request gives a ready workspace with the defaults',
    async () => {
      const created = await server.admin.json<Workspace>(201, 'POST', workspaces);
      expect(created).toMatchObject({
        status: 'ready',
        provider: 'memory',
        container_type: 'agent_workspace',
        network: 'nat',
        deployment_mode: 'self-hosted',
        resource_limits: { cpu: 2, memory: '4G', disk: '10G' },
        agent_session_id: null,
      });
      const life = Date.parse(created.expires_at) - Date.parse(created.created_at);
      expect(life).toBe(30 * 24 * 3600 * 1000);
      expect(created).not.toHaveProperty('mcp_config');
    },
  );

  test('everything that is asked for is kept', async () => {
    const created = await server.admin.json<Workspace>(201, 'POST', workspaces, {
      json: {
        container_type: 'agent_workspace',
        provider: 'memory',
        deployment_mode: 'managed',
        image: 'registry.example:5000/team/tools:1.2',
        resource_limits: { cpu: '0.5', memory: '512M', disk: '1.5G' },
        network: 'isolated',
        ttl_seconds: 60,
        env: { GREETING: 'hello' },
        metadata: { task: { id: 7, labels: ['a'] } },
        agent_session_id: 'session-1',
      },
    });
    expect(created).toMatchObject({
      deployment_mode: 'managed',
      image: 'registry.example:5000/team/tools:1.2',
      resource_limits: { cpu: 0.5, memory: '512M', disk: '1536M' },
      network: 'isolated',
      metadata: { task: { id: 7, labels: ['a'] } },
      agent_session_id: 'session-1',
    });
    expect(created.metadata).toHaveProperty('isolation', 'none');
    expect(await server.admin.json(200, 'GET', `${workspaces}/${created.id}`)).toEqual(created);
    expect(JSON.stringify(created)).not.toContain('hello');
    const answer = await server.admin.json(200, 'POST', `${workspaces}/${created.id}/bash`, {
      json: { command: 'echo "$GREETING"' },
    });
    expect(answer).toHaveProperty('stdout', 'hello\n');
  });

  test('a number of cores may be a number, and a JSON body may be empty', async () => {
    const limits = { resource_limits: { cpu: 1.5 } };
    const created = await server.admin.json<Workspace>(201, 'POST', workspaces, { json: limits });
    expect(created.resource_limits).toMatchObject({ cpu: 1.5 });
    const empty = { body: '', headers: { 'content-type': 'application/json' } };
    await server.admin.json(201, 'POST', workspaces, empty);
  });
});

describe('list', () => {
  test('pages hold every workspace once, newest first', async () => {
    const agent = await server.newClient('agent');
    const made: string[] = [];
    for (let i = 0; i < 5; i++) made.unshift(await server.newWorkspace(agent));
    const seen: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const after: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const page: Page = await agent.json<Page>(200, 'GET', `${workspaces}?limit=2${after}`);
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.next_cursor;
    }
    expect(seen).toEqual(made);
  });

  test('filters narrow it', async () => {
    const agent = await server.newClient('agent');
    const id = await server.newWorkspace(agent);
    const count = async (query: string): Promise<number> =>
      (await agent.json<Page>(200, 'GET', `${workspaces}?${query}`)).items.length;
    expect(await count('status=ready&provider=memory&container_type=agent_workspace')).toBe(1);
    expect(await count('status=stopped')).toBe(0);
    expect(await count('provider=gvisor')).toBe(0);
    expect(await count('container_type=mcp_server')).toBe(0);
    await agent.json(200, 'DELETE', `${workspaces}/${id}`);
    expect(await count('')).toBe(0);
  });
});

describe('destroy', () => {
  verifies(
    ['lifecycle/successful-workspace-destruction'],
    'the sandbox, its files and the row are gone, and the answer says so',
    async () => {
      const created = await server.admin.json<Workspace>(201, 'POST', workspaces);
      const home = join(server.root, created.provider_workspace_id);
      await access(home);
      const one = `${workspaces}/${created.id}`;
      expect(await server.admin.json(200, 'DELETE', one)).toEqual({
        id: created.id,
        status: 'destroyed',
      });
      await expect(access(home)).rejects.toThrow('ENOENT');
      expect(await server.admin.error(404, 'GET', one)).toMatchObject({
        code: 'workspace_not_found',
      });
    },
  );

  verifies(
    ['lifecycle/destroy-non-existent-workspace'],
    'a workspace that does not exist is a 404 that names it',
    async () => {
      const id = randomUUID();
      const error = await server.admin.error(404, 'DELETE', `${workspaces}/${id}`);
      expect(error.code).toBe('workspace_not_found');
      expect(error.message).toContain(id);
    },
  );

  test('an id in capitals names the same workspace', async () => {
    const id = await server.newWorkspace();
    const answer = await server.admin.json(200, 'DELETE', `${workspaces}/${id.toUpperCase()}`);
    expect(answer).toEqual({ id, status: 'destroyed' });
  });
});

describe('ownership', () => {
  test("an agent sees its own workspaces and none of others'; an admin sees all", async () => {
    const [owner, stranger] = [await server.newClient('agent'), await server.newClient('agent')];
    const id = await server.newWorkspace(owner);
    const one = `${workspaces}/${id}`;
    await owner.json(200, 'GET', one);
    await server.admin.json(200, 'GET', one);
    const page = await stranger.json<Page>(200, 'GET', workspaces);
    expect(page.items).toEqual([]);
    const json = { command: 'true' };
    const refused = [
      await stranger.error(404, 'GET', one),
      await stranger.error(404, 'DELETE', one),
      await stranger.error(404, 'POST', `${one}/bash`, { json }),
      await stranger.error(404, 'GET', `${one}/files?path=a`),
      await stranger.error(404, 'PUT', `${one}/files?path=a`, { body: 'a' }),
      await stranger.error(404, 'POST', `${one}/processes/${randomUUID()}/signal`, {
        json: { signal: 'SIGINT' },
      }),
    ];
    expect(new Set(refused.map(({ code }) => code))).toEqual(new Set(['workspace_not_found']));
    await owner.json(200, 'POST', `${one}/bash`, { json });
  });
});
