import { afterAll, beforeAll, expect, test } from 'vitest';
import type { WorkspaceProvider } from '../../src/domain/provider.ts';
import { eventually } from '../support/eventually.ts';
import { connectTo, generations, useTool } from './support/mcp.ts';
import { openTestStore, startServer } from './support/server.ts';
import type { TestServer, TestStore } from './support/server.ts';

const image = 'tea/pot:1';

let store: TestStore;
let server: TestServer;
/** Resolved when the client has heard of the pull. */
let heard = Promise.withResolvers<void>();
beforeAll(async () => {
  store = await openTestStore();
  server = await startServer(store, { wrap: pulling });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

/** Takes as long to pull an image as the client takes to hear of it. */
function pulling(provider: WorkspaceProvider): WorkspaceProvider {
  const create: WorkspaceProvider['create'] = async (spec, signal, onProgress) => {
    const message = `pulling ${spec.image}: 3 of 5 MB`;
    onProgress?.({ step: 'pulling_image', message, detail: { image: spec.image } });
    await heard.promise;
    return provider.create(spec, signal, onProgress);
  };
  return new Proxy(provider, {
    get: (target, name) => {
      if (name === 'create') return create;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

test.each(generations)('a client of %s hears that an image is pulled', async (generation) => {
  heard = Promise.withResolvers();
  await using client = await connectTo(generation, server.admin, '/mcp');
  const messages: string[] = [];
  const created = await useTool(
    client,
    'create_workspace',
    { image },
    {
      onprogress({ message = '' }) {
        messages.push(message);
        if (message.startsWith('pulling')) heard.resolve();
      },
    },
  );
  expect(created.structured, created.text).toMatchObject({ status: 'ready', image });
  expect(messages).toContain(`pulling ${image}: 3 of 5 MB`);
});

test.each(generations)('a client of %s that leaves gets no workspace', async (generation) => {
  heard = Promise.withResolvers();
  await using client = await connectTo(generation, server.admin, '/mcp');
  const cancel = new AbortController();
  const creating = useTool(
    client,
    'create_workspace',
    { image, metadata: { generation } },
    {
      signal: cancel.signal,
      onprogress() {
        cancel.abort('no longer wanted');
      },
    },
  );
  await expect(creating).rejects.toThrow();
  heard.resolve();
  await eventually(async () => {
    const path = '/api/v1/agent/workspaces?limit=200';
    const page = await server.admin.json<{ items: { metadata: object }[] }>(200, 'GET', path);
    const left = page.items.map(({ metadata }) => metadata);
    expect(left).not.toContainEqual(expect.objectContaining({ generation }));
  });
});
