import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EmergentError } from '../../src/domain/errors.ts';
import type { WorkspaceProvider } from '../../src/domain/provider.ts';
import { eventually } from '../support/eventually.ts';
import { verifies } from '../support/verifies.ts';
import { openTestStore, startServer } from './support/server.ts';
import type { TestServer, TestStore } from './support/server.ts';
import { eventsOf, outputOf } from './support/sse.ts';
import type { ServerEvent } from './support/sse.ts';

const workspaces = '/api/v1/agent/workspaces';

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

const at = (id: string, change = ''): string =>
  `${workspaces}/${id}${change === '' ? '' : `/${change}`}`;

/** What a command sends after it has printed "begun". */
async function begun(id: string, command: string): Promise<AsyncIterable<ServerEvent>> {
  const response = await server.admin.fetch('POST', at(id, 'bash'), {
    json: { command },
    headers: { accept: 'text/event-stream' },
  });
  const events = eventsOf(response);
  expect((await events.next()).value).toMatchObject({ event: 'start' });
  expect((await events.next()).value).toMatchObject({ data: { text: 'begun\n' } });
  return events;
}

/** The provider with one of its methods replaced. */
function replacing<K extends 'resume' | 'create' | 'destroy'>(
  name: K,
  by: (provider: WorkspaceProvider) => WorkspaceProvider[K],
): (provider: WorkspaceProvider) => WorkspaceProvider {
  return (provider) =>
    new Proxy(provider, {
      get(target, wanted) {
        if (wanted === name) return by(target);
        const value: unknown = Reflect.get(target, wanted, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
}

describe('stop and resume', () => {
  verifies(
    ['lifecycle/stop-a-running-workspace', 'lifecycle/resume-a-stopped-workspace'],
    'the files stay, and each answers with the workspace as it is then',
    async () => {
      const id = await server.newWorkspace();
      const json = { command: 'echo kept > file' };
      await server.admin.json(200, 'POST', at(id, 'bash'), { json });
      const before = await server.admin.json<Record<string, unknown>>(200, 'GET', at(id));
      const stopped = await server.admin.json<Record<string, unknown>>(200, 'POST', at(id, 'stop'));
      expect(stopped).toMatchObject({ id, status: 'stopped', desired_state: 'stopped' });
      expect(Date.parse(String(stopped['last_used_at']))).toBeGreaterThanOrEqual(
        Date.parse(String(before['last_used_at'])),
      );
      const refused = await server.admin.error(409, 'POST', at(id, 'bash'), { json });
      expect(refused).toMatchObject({ code: 'wrong_state', details: { status: 'stopped' } });
      expect(refused.message).toContain('stopped');
      expect(await server.admin.json(200, 'POST', at(id, 'resume'))).toMatchObject({
        status: 'ready',
        desired_state: 'running',
      });
      const file = await server.admin.call('GET', `${at(id, 'files')}?path=file`);
      expect(file.text).toBe('kept\n');
    },
  );

  test('a second call is answered like the first; an empty object is an empty body', async () => {
    const id = await server.newWorkspace();
    const both = await Promise.all([
      server.admin.json(200, 'POST', at(id, 'stop'), { json: {} }),
      server.admin.json(200, 'POST', at(id, 'stop')),
    ]);
    expect(both).toMatchObject([{ status: 'stopped' }, { status: 'stopped' }]);
    expect(await server.admin.json(200, 'POST', at(id, 'stop'))).toMatchObject({
      status: 'stopped',
    });
  });

  test('recover is for workspaces in error', async () => {
    const id = await server.newWorkspace();
    await server.admin.json(200, 'POST', at(id, 'stop'));
    const error = await server.admin.error(409, 'POST', at(id, 'recover'));
    expect(error).toMatchObject({ code: 'wrong_state', details: { status: 'stopped' } });
  });

  test('what could not be resumed is in error with the reason, and recover brings it back', async () => {
    const failures = [
      new EmergentError('provider_failed', 'the disk is on fire'),
      new EmergentError('files_lost', 'its files are gone'),
    ];
    await using shaky = await startServer(store, {
      wrap: replacing('resume', (provider) => async (...args) => {
        const failure = failures.shift();
        if (failure) throw failure;
        return provider.resume(...args);
      }),
    });
    const id = await shaky.newWorkspace();
    await shaky.admin.json(200, 'POST', at(id, 'stop'));
    const failed = await shaky.admin.error(502, 'POST', at(id, 'resume'));
    expect(failed).toMatchObject({ code: 'provider_failed', message: 'the disk is on fire' });
    expect(await shaky.admin.json(200, 'GET', at(id))).toMatchObject({
      status: 'error',
      status_reason: expect.stringContaining('the disk is on fire') as string,
    });
    const lost = await shaky.admin.error(409, 'POST', at(id, 'recover'));
    expect(lost).toMatchObject({ code: 'files_lost', message: 'its files are gone' });
    expect(await shaky.admin.json(200, 'POST', at(id, 'recover'))).toMatchObject({
      status: 'ready',
      status_reason: null,
    });
  });

  test('an agent changes its own workspaces only', async () => {
    const stranger = await server.newClient('agent');
    const id = await server.newWorkspace();
    for (const change of ['stop', 'resume', 'recover']) {
      const error = await stranger.error(404, 'POST', at(id, change));
      expect(error.code).toBe('workspace_not_found');
    }
  });

  verifies(
    ['lifecycle/destroy-running-workspace-with-active-operations'],
    'a command that a destroy ends is answered with what it printed, and says what ended it',
    async () => {
      const id = await server.newWorkspace();
      const polite = await begun(id, 'trap "echo bye; exit 3" TERM; echo begun; sleep 1000 & wait');
      const other = await begun(id, 'echo begun; exec sleep 1000');
      const destroyed = server.admin.json(200, 'DELETE', at(id));
      const events = await Array.fromAsync(polite);
      expect(outputOf(events, 'stdout').toString()).toBe('bye\n');
      expect(events.at(-1)).toMatchObject({ event: 'result', data: { exit_code: 3 } });
      expect(await Array.fromAsync(other)).toMatchObject([
        { event: 'result', data: { interrupted: true, signal: 'SIGTERM', exit_code: 143 } },
      ]);
      expect(await destroyed).toEqual({ id, status: 'destroyed' });
    },
  );
});

describe('create without waiting', () => {
  test('answers with 202 and status creating; the row tells how it went on', async () => {
    const gate = Promise.withResolvers<void>();
    await using slow = await startServer(store, {
      wrap: replacing('create', (provider) => async (...args) => {
        await gate.promise;
        return provider.create(...args);
      }),
    });
    const path = `${workspaces}?wait=false`;
    const created = await slow.admin.json<{ id: string }>(202, 'POST', path);
    expect(created).toMatchObject({ status: 'creating', ready_at: null });
    const error = await slow.admin.error(409, 'POST', at(created.id, 'stop'));
    expect(error).toMatchObject({ code: 'wrong_state', details: { status: 'creating' } });
    gate.resolve();
    await eventually(async () => {
      expect(await slow.admin.json(200, 'GET', at(created.id))).toMatchObject({
        status: 'ready',
        ready_at: expect.stringMatching(/^\d{4}-/) as string,
        ttl_seconds: 30 * 24 * 3600,
      });
    });
  });

  test('never tells what the environment holds', async () => {
    const json = { env: { SECRET: 'unspeakable' } };
    const { text } = await server.admin.call('POST', workspaces, { json });
    const { id } = JSON.parse(text) as { id: string };
    const all = [text, (await server.admin.call('GET', at(id))).text].join('');
    expect(all).not.toMatch(/unspeakable|sealed|env/);
    const printed = await server.admin.json(200, 'POST', at(id, 'bash'), {
      json: { command: 'echo $SECRET' },
    });
    expect(printed).toMatchObject({ stdout: 'unspeakable\n' });
  });
});

verifies(
  ['lifecycle/workspace-creation-exceeds-concurrent-limit'],
  'the limit is a 429 that says how many there are, what to do and when to try again',
  async () => {
    await using own = await openTestStore();
    await using few = await startServer(own, { maxConcurrent: 2 });
    const [first] = [await few.newWorkspace(), await few.newWorkspace()];
    const answer = await few.admin.call('POST', workspaces);
    expect(answer.status).toBe(429);
    expect(answer.headers.get('retry-after')).toBe('5');
    expect(JSON.parse(answer.text)).toMatchObject({
      error: {
        code: 'limit_reached',
        message: expect.stringContaining('limit of 2') as string,
        hint: expect.stringMatching(/Wait .*destroy/) as string,
        details: { limit: 2, running: 2 },
      },
    });
    // A stopped one leaves its place; who comes back later finds it taken.
    await few.admin.json(200, 'POST', at(first, 'stop'));
    await few.newWorkspace();
    const error = await few.admin.error(429, 'POST', at(first, 'resume'));
    expect(error).toMatchObject({ code: 'limit_reached', details: { limit: 2, running: 2 } });
    expect(await few.admin.json(200, 'GET', at(first))).toMatchObject({ status: 'stopped' });
  },
);

test('a destroy that fails says that the server goes on trying', async () => {
  const down = new EmergentError('provider_unavailable', 'the engine is down');
  await using broken = await startServer(store, {
    wrap: replacing('destroy', () => () => Promise.reject(down)),
  });
  const id = await broken.newWorkspace();
  const error = await broken.admin.error(503, 'DELETE', at(id));
  expect(error.message).toContain('the engine is down');
  expect(error.hint).toContain('goes on trying');
  expect(await broken.admin.json(200, 'GET', at(id))).toMatchObject({ status: 'destroying' });
});
