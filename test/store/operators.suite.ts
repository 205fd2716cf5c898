import { expect, test } from 'vitest';
import type { Store } from '../../src/domain/store.ts';
import {
  changingStatuses,
  isChanging,
  workspaceStatuses,
  type Workspace,
} from '../../src/domain/workspace.ts';
import { change, put } from './fixtures/workspaces.ts';
import type { Subject } from './suite.ts';

const ids = (rows: readonly Workspace[]): Set<string> => new Set(rows.map(({ id }) => id));

export function operatorTests(subject: () => Subject): void {
  const operatorOf = async (id: string): Promise<unknown> => {
    const [row] = await subject().database.query(
      'select operator from kb.agent_workspaces where id = $1',
      [id],
    );
    return row?.['operator'];
  };
  /** What a server leaves behind that ends in the middle of its work. */
  const leaveOne = async (overrides: Parameters<typeof put>[1] = {}): Promise<Workspace> => {
    const gone = await subject().another();
    const row = await put(gone, overrides);
    await gone[Symbol.asyncDispose]();
    return row;
  };

  test.each(workspaceStatuses)('a row has an operator while it changes: %s', async (status) => {
    const { id } = await put(subject().store, { status });
    if (isChanging(status)) expect(await operatorOf(id)).toEqual(expect.any(Number));
    else expect(await operatorOf(id)).toBeNull();
  });

  test('two servers have different numbers', async () => {
    const one = await put(subject().store);
    const two = await put(await subject().another());
    expect(await operatorOf(one.id)).not.toEqual(await operatorOf(two.id));
  });

  test('own: only the operator ends what it began', async () => {
    const { store, another } = subject();
    const other = await another();
    const { id } = await put(store);
    const ready = change(['creating'], 'ready', { own: true });
    expect(await other.workspaces.transition(id, ready)).toBeUndefined();
    expect(await store.workspaces.get(id)).toMatchObject({ status: 'creating', version: 1 });
    expect(await store.workspaces.transition(id, ready)).toMatchObject({ status: 'ready' });
  });

  test('own: a row that another server changed meanwhile is no longer this one’s', async () => {
    const { store, another } = subject();
    const other = await another();
    const { id } = await put(store);
    await other.workspaces.transition(id, change(['creating'], 'destroying'));
    const late = change(['creating', 'destroying'], 'error', { own: true });
    expect(await store.workspaces.transition(id, late)).toBeUndefined();
    expect(await store.workspaces.remove(id, 'somebody')).toBe(false);
    expect(await other.workspaces.remove(id, 'somebody')).toBe(true);
  });

  test('what a live server works on is not abandoned, not even for itself', async () => {
    const { store, another } = subject();
    const other = await another();
    for (const status of workspaceStatuses) await put(other, { status });
    expect(await store.workspaces.abandoned()).toEqual([]);
    expect(await store.workspaces.takeOver()).toEqual([]);
    expect(await other.workspaces.takeOver()).toEqual([]);
  });

  test('what a server that is gone worked on can be taken over, and only that', async () => {
    const { store, another } = subject();
    const gone = await another();
    const rows: Workspace[] = [];
    for (const status of workspaceStatuses) rows.push(await put(gone, { status }));
    await gone[Symbol.asyncDispose]();
    const left = rows.filter(({ status }) => isChanging(status));
    expect(left).toHaveLength(changingStatuses.length);
    expect(ids(await store.workspaces.abandoned())).toEqual(ids(left));
    const taken = await store.workspaces.takeOver();
    expect(new Set(taken)).toEqual(new Set(left));
    expect(await store.workspaces.abandoned()).toEqual([]);
    const { id } = taken.find(({ status }) => status === 'destroying') ?? { id: '' };
    expect(await store.workspaces.remove(id, 'reconciler')).toBe(true);
  });

  test('taking over is no change: nothing is noted, no version is raised', async () => {
    const { store } = subject();
    const row = await leaveOne();
    const before = await store.events.newestId();
    expect(await store.workspaces.takeOver()).toEqual([row]);
    expect(await store.events.newestId()).toBe(before);
  });

  test('each abandoned row goes to one of several servers at once', async () => {
    const { store, another } = subject();
    const gone = await another();
    const left = new Set<string>();
    for (let n = 0; n < 40; n += 1) left.add((await put(gone)).id);
    await gone[Symbol.asyncDispose]();
    const servers: Store[] = [store, await another(), await another()];
    const taken = await Promise.all(
      [...servers, ...servers, ...servers].map(({ workspaces }) => workspaces.takeOver()),
    );
    const all = taken.flat().map(({ id }) => id);
    expect(all).toHaveLength(40);
    expect(new Set(all)).toEqual(left);
  });

  test('a released row is the next taker’s; only its operator can release it', async () => {
    const { store, another } = subject();
    const other = await another();
    const row = await put(store, { status: 'destroying' });
    await other.workspaces.release(row.id);
    expect(await other.workspaces.takeOver()).toEqual([]);
    await store.workspaces.release(row.id);
    expect(await store.workspaces.remove(row.id, 'somebody')).toBe(false);
    expect(await other.workspaces.abandoned()).toEqual([row]);
    expect(await other.workspaces.takeOver()).toEqual([row]);
    expect(await store.workspaces.takeOver()).toEqual([]);
  });

  test('a server takes again what it has released itself', async () => {
    const { store } = subject();
    const row = await put(store, { status: 'stopping' });
    await store.workspaces.release(row.id);
    expect(await store.workspaces.takeOver()).toEqual([row]);
  });
}
