import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Client } from './support/client.ts';
import { openTestStore, startServer } from './support/server.ts';
import type { TestServer, TestStore } from './support/server.ts';
import { eventsOf } from './support/sse.ts';
import type { ServerEvent } from './support/sse.ts';

const workspaces = '/api/v1/agent/workspaces';
const events = '/api/v1/events';
const sse = { accept: 'text/event-stream' };

interface Event {
  readonly id: number;
  readonly type: string;
  readonly workspace_id: string;
}
interface EventList {
  readonly items: readonly Event[];
  readonly next_after: number;
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

function list(query: string, client: Client = server.admin): Promise<EventList> {
  return client.json<EventList>(200, 'GET', `${events}?${query}`);
}

async function follow(
  query: string,
  headers: Record<string, string> = {},
): Promise<AsyncGenerator<ServerEvent, undefined>> {
  const path = `${events}?${query}`;
  const response = await server.admin.fetch('GET', path, { headers: { ...sse, ...headers } });
  expect(response.status).toBe(200);
  return eventsOf(response);
}

async function take(
  from: AsyncGenerator<ServerEvent, undefined>,
  count: number,
): Promise<ServerEvent[]> {
  const taken: ServerEvent[] = [];
  while (taken.length < count) {
    const { value, done } = await from.next();
    if (done === true) throw new Error('the stream ended too early');
    taken.push(value);
  }
  return taken;
}

/** A workspace that has lived: created, used, destroyed. */
async function aLife(client: Client = server.admin): Promise<string> {
  const id = await server.newWorkspace(client);
  const json = { command: 'exit 3' };
  await client.json(200, 'POST', `${workspaces}/${id}/bash`, { json });
  await client.json(200, 'DELETE', `${workspaces}/${id}`);
  return id;
}

const life = [
  'workspace.creating',
  'workspace.ready',
  'tool.bash',
  'workspace.destroying',
  'workspace.destroyed',
];

describe('the log', () => {
  test('tells a life, newest first, or in order behind an id, page by page', async () => {
    const id = await aLife();
    const newest = await list(`workspace_id=${id}`);
    expect(newest.items.map(({ type }) => type)).toEqual(life.toReversed());
    expect(newest.next_after).toBe(newest.items[0]?.id);
    const tool = newest.items.find(({ type }) => type === 'tool.bash');
    expect(tool).toMatchObject({
      workspace_id: id,
      at: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      owner: expect.any(String) as string,
      actor: expect.any(String) as string,
      detail: { subject: 'exit 3', exit_code: 3, result: 'ok' },
    });
    const seen: string[] = [];
    let after = 0;
    for (let page = await list(`workspace_id=${id}&after=0&limit=2`); page.items.length > 0;) {
      seen.push(...page.items.map(({ type }) => type));
      expect(page.next_after).toBeGreaterThan(after);
      after = page.next_after;
      page = await list(`workspace_id=${id}&after=${String(after)}&limit=2`);
      if (page.items.length === 0) expect(page.next_after).toBe(after);
    }
    expect(seen).toEqual(life);
  });

  test('is filtered by types, repeated or separated by commas', async () => {
    const id = await aLife();
    for (const types of ['type=workspace.ready,tool.bash', 'type=tool.bash&type=workspace.ready']) {
      const { items } = await list(`workspace_id=${id}&${types}`);
      expect(items.map(({ type }) => type)).toEqual(['tool.bash', 'workspace.ready']);
    }
  });

  test("shows an agent its own events, an admin everybody's", async () => {
    const [owner, stranger] = [await server.newClient('agent'), await server.newClient('agent')];
    const id = await aLife(owner);
    expect((await list('', owner)).items.map(({ type }) => type)).toEqual(life.toReversed());
    expect(await list(`workspace_id=${id}`, stranger)).toEqual({ items: [], next_after: 0 });
    expect((await list(`workspace_id=${id}`)).items).toHaveLength(life.length);
  });
});

describe('following', () => {
  test('begins with what happens after the answer has begun, name and id included', async () => {
    await aLife();
    const following = await follow('');
    const id = await aLife();
    const taken = await take(following, life.length);
    expect(taken.map(({ event }) => event)).toEqual(life);
    for (const { event, id: place, data } of taken) {
      expect(data).toMatchObject({ id: place, type: event, workspace_id: id });
    }
    await following.return(undefined);
  });

  test('goes on behind an id; Last-Event-ID wins over the address', async () => {
    const id = await aLife();
    const [first, second] = (await list(`workspace_id=${id}&after=0`)).items;
    const query = `workspace_id=${id}&after=${String(first?.id)}`;
    const all = await follow(query);
    expect((await take(all, 4)).map(({ event }) => event)).toEqual(life.slice(1));
    await all.return(undefined);
    const resumed = await follow(query, { 'last-event-id': String(second?.id) });
    expect((await take(resumed, 3)).map(({ event }) => event)).toEqual(life.slice(2));
    await resumed.return(undefined);
  });

  test('shows only the types and the workspace that are asked for', async () => {
    const mine = await server.newWorkspace();
    const following = await follow(`workspace_id=${mine}&type=workspace.stopped,workspace.ready`);
    await aLife();
    await server.admin.json(200, 'POST', `${workspaces}/${mine}/stop`);
    await server.admin.json(200, 'POST', `${workspaces}/${mine}/resume`);
    const taken = await take(following, 2);
    expect(taken.map(({ event }) => event)).toEqual(['workspace.stopped', 'workspace.ready']);
    await following.return(undefined);
  });
});
