import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { runningStatuses, workspaceStatuses } from '../../src/domain/workspace.ts';
import { newMcpServer } from './fixtures/mcp-servers.ts';
import { change, newWorkspace, put } from './fixtures/workspaces.ts';
import type { Subject } from './suite.ts';

export function admissionTests(subject: () => Subject): void {
  const resume = change(['stopped', 'error', 'ready'], 'resuming');

  test('the limit counts what runs, and says how many', async () => {
    const { store } = subject();
    for (const status of workspaceStatuses) await put(store, { status });
    const running = runningStatuses.length;
    expect(await store.workspaces.admit(newWorkspace(), running)).toEqual({ running });
    expect(await store.workspaces.admit(newWorkspace(), running - 1)).toEqual({ running });
    expect(await store.workspaces.admit(newWorkspace(), running + 1)).toHaveProperty('id');
    expect(await store.workspaces.admit(newWorkspace(), running + 1)).toEqual({
      running: running + 1,
    });
  });

  test('a refused one leaves neither row nor event', async () => {
    const { store } = subject();
    expect(await store.workspaces.admit(newWorkspace(), 0)).toEqual({ running: 0 });
    expect(await store.workspaces.all()).toEqual([]);
    expect(await store.events.list({ limit: 10 })).toEqual([]);
  });

  test('MCP servers neither count nor are counted against', async () => {
    const { store } = subject();
    const mcp = newMcpServer();
    expect(await store.workspaces.admit(mcp, 0)).toHaveProperty('id');
    await store.workspaces.transition(mcp.id, change(['creating'], 'ready'));
    expect(await store.workspaces.admit(newWorkspace(), 1)).toHaveProperty('id');
    await store.workspaces.transition(mcp.id, change(['ready'], 'stopped'));
    expect(await store.workspaces.transitionWithin(mcp.id, resume, 1)).toHaveProperty('id');
  });

  test('of many at once on two servers no more get through than the limit', async () => {
    const { store, another } = subject();
    const other = await another();
    await put(store, { status: 'ready' });
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        (n % 2 ? store : other).workspaces.admit(newWorkspace(), 10),
      ),
    );
    expect(answers.filter((answer) => 'id' in answer)).toHaveLength(9);
    expect(answers.filter((answer) => 'running' in answer)).toHaveLength(91);
    expect(await store.workspaces.all()).toHaveLength(10);
  });

  test('a resumed one takes a slot, if there is one', async () => {
    const { store } = subject();
    const { id } = await put(store, { status: 'stopped' });
    await put(store, { status: 'ready' });
    expect(await store.workspaces.transitionWithin(id, resume, 1)).toEqual({ running: 1 });
    expect((await store.workspaces.get(id))?.status).toBe('stopped');
    expect(await store.workspaces.transitionWithin(id, resume, 2)).toMatchObject({
      status: 'resuming',
      version: 3,
    });
    expect(await store.workspaces.admit(newWorkspace(), 2)).toEqual({ running: 2 });
  });

  test('one that runs already needs no second slot', async () => {
    const { store } = subject();
    const { id } = await put(store, { status: 'ready' });
    expect(await store.workspaces.transitionWithin(id, resume, 1)).toMatchObject({ id });
  });

  test('one in another state, another’s or not there is undefined, room or not', async () => {
    const { store, another } = subject();
    const other = await another();
    const { id } = await put(store, { status: 'resuming' });
    for (const limit of [0, 100]) {
      expect(await store.workspaces.transitionWithin(id, resume, limit)).toBeUndefined();
      expect(await store.workspaces.transitionWithin(randomUUID(), resume, limit)).toBeUndefined();
      const own = change(['resuming'], 'resuming', { own: true });
      expect(await other.workspaces.transitionWithin(id, own, limit)).toBeUndefined();
    }
  });

  test('resumes and creates at once share the slots', async () => {
    const { store, another } = subject();
    const other = await another();
    const stopped = await Promise.all(
      Array.from({ length: 20 }, () => put(store, { status: 'stopped' })),
    );
    const answers = await Promise.all([
      ...stopped.map(({ id }, n) =>
        (n % 2 ? store : other).workspaces.transitionWithin(id, resume, 5),
      ),
      ...stopped.map(() => other.workspaces.admit(newWorkspace(), 5)),
    ]);
    expect(answers.filter((answer) => answer && 'id' in answer)).toHaveLength(5);
    const running = (await store.workspaces.all()).filter(({ status }) => status !== 'stopped');
    expect(running).toHaveLength(5);
  });
}
