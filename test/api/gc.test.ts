import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestStore, startServer } from './support/server.ts';
import type { TestServer, TestStore } from './support/server.ts';

const gc = '/api/v1/gc';

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

test('only an admin may', async () => {
  const agent = await server.newClient('agent');
  expect(await agent.error(403, 'POST', gc)).toMatchObject({ code: 'forbidden' });
});

test('nothing to do is an empty report', async () => {
  await server.newWorkspace();
  expect(await server.admin.json(200, 'POST', gc)).toEqual({
    dry_run: false,
    actions: [],
    leftovers: [],
    blocked: [],
  });
});

test('a dry run says what it would do and does nothing; then it is done', async () => {
  const found = { workspaceId: randomUUID(), sandboxName: 'unowned' };
  await store.provider.create(
    {
      ...found,
      containerType: 'agent_workspace',
      image: 'base',
      limits: { cpu: 1, memoryBytes: 2 ** 30, diskBytes: 2 ** 30 },
      network: 'nat',
      env: {},
    },
    new AbortController().signal,
  );
  const order = { min_age_seconds: 0, include_unknown: true };
  const action = { workspace_id: found.workspaceId, provider: 'memory' };
  const left = await server.admin.json(200, 'POST', gc, { json: { min_age_seconds: 0 } });
  expect(left).toMatchObject({ actions: [{ ...action, kind: 'keep_unknown', result: null }] });
  const dry = await server.admin.json(200, 'POST', gc, { json: { ...order, dry_run: true } });
  expect(dry).toMatchObject({
    dry_run: true,
    actions: [{ ...action, kind: 'remove', result: null, reason: null }],
  });
  const done = await server.admin.json(200, 'POST', gc, { json: order });
  expect(done).toMatchObject({ dry_run: false, actions: [{ ...action, result: 'done' }] });
  expect(await server.admin.json(200, 'POST', gc, { json: order })).toMatchObject({ actions: [] });
});
