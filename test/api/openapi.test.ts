import { afterAll, beforeAll, expect, test } from 'vitest';
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

/** "GET /healthz", one per line of fastify's own picture of its routes. */
function routesOfServer(): readonly string[] {
  const routes: string[] = [];
  const parents: string[] = [];
  for (const line of server.app.printRoutes({ commonPrefix: false }).split('\n')) {
    const match = /^([│├└─ ]*)(\S+)(?: \(([A-Z, ]+)\))?/u.exec(line);
    if (!match?.[2]) continue;
    const depth = (match[1] ?? '').length / 4;
    parents.splice(depth - 1, Infinity, match[2]);
    for (const method of match[3]?.split(', ') ?? []) routes.push(`${method} ${parents.join('')}`);
  }
  return routes.sort();
}

function operations() {
  return Object.entries(server.document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
}

/** An upgrade succeeds by becoming something else than HTTP. */
function isSuccess(status: string): boolean {
  return status.startsWith('2') || status === '101';
}

test('lists exactly the routes that the server has', () => {
  const documented = operations().map(
    ({ path, method }) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`,
  );
  expect(documented.sort()).toEqual(routesOfServer());
  expect(documented.length).toBeGreaterThan(10);
});

test('every operation is named, described and complete', () => {
  const ids = operations().map(({ operation }) => operation.operationId);
  expect(new Set(ids).size).toBe(ids.length);
  for (const { path, method, operation } of operations()) {
    const what = `${method} ${path}`;
    expect(operation, what).toMatchObject({
      operationId: expect.stringMatching(/^[a-z]+[A-Za-z]*$/) as string,
      summary: expect.stringMatching(/^[A-Z].+[^.]$/) as string,
      tags: [expect.any(String) as string],
    });
    const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const inPath = operation.parameters?.filter((one) => one.in === 'path') ?? [];
    expect(
      inPath.map(({ name }) => name),
      what,
    ).toEqual(parameters);
    expect(operation.requestBody !== undefined, what).toBe(
      ['post', 'put', 'patch'].includes(method),
    );
    const statuses = Object.keys(operation.responses);
    expect(statuses.some(isSuccess), what).toBe(true);
    for (const [status, response] of Object.entries(operation.responses)) {
      expect(response.description, `${what} ${status}`).not.toBe('Default Response');
      if (isSuccess(status)) continue;
      expect(response.content, `${what} ${status}`).toEqual({
        'application/json': { schema: { $ref: '#/components/schemas/Error' } },
      });
    }
  }
});

test('every reference leads somewhere, and nothing is left over', () => {
  const text = JSON.stringify(server.document);
  const refs = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => ref ?? '');
  expect(refs.length).toBeGreaterThan(0);
  const names = new Set(refs.map((ref) => ref.replace('#/components/schemas/', '')));
  expect(Object.keys(server.document.components.schemas).sort()).toEqual([...names].sort());
});

test('needs a token everywhere but on /healthz', () => {
  expect(server.document.security).toEqual([{ bearer: [] }]);
  const open = operations().filter(({ operation }) => operation.security?.length === 0);
  expect(open.map(({ path }) => path)).toEqual(['/healthz']);
});

test('an empty create is allowed, an empty command is not', () => {
  const body = (path: string): unknown => server.document.paths[path]?.['post']?.requestBody;
  expect(body('/api/v1/agent/workspaces')).toMatchObject({ required: false });
  expect(body('/api/v1/agent/workspaces/{id}/bash')).toMatchObject({ required: true });
});
