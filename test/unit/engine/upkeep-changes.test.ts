import { describe, expect, test } from 'vitest';
import { EmergentError } from '../../../src/domain/errors.ts';
import { alice, never, request, setUp, setUpWith, workspaceIn } from './support/workspaces.ts';
import type { Setup } from './support/workspaces.ts';

/** The server is killed; another one starts on the same database and takes over what was left. */
function restarted(dead: Setup): Setup {
  const next = setUpWith({ beside: dead });
  dead.store.alive.delete(dead.store.server);
  return next;
}

describe('a create whose server died', () => {
  test('is undone when nobody knows its id', async () => {
    const dead = setUp();
    dead.provider.create.mockImplementationOnce((spec) => {
      dead.provider.sandboxes.add(spec.sandboxName);
      return new Promise(() => undefined);
    });
    void dead.workspaces.create(alice, request, never());
    await dead.clock.advance(0);
    const next = restarted(dead);
    const [row] = await next.store.takeOver();
    expect(row).toMatchObject({ status: 'creating', announced: false });
    if (row) await next.upkeep.finishCreate(row);
    expect([next.store.rows.size, next.provider.sandboxes.size]).toEqual([0, 0]);
    expect(next.store.events.events.at(-1)).toMatchObject({
      type: 'workspace.destroyed',
      actor: 'reconciler',
      detail: { reason: 'the server that was creating it ended' },
    });
  });

  test('is done again when its caller knows the id, with the environment', async () => {
    const dead = setUp();
    dead.provider.create.mockImplementationOnce(() => new Promise(() => undefined));
    const { id } = await dead.workspaces.create(alice, { ...request, wait: false }, never());
    await dead.clock.advance(0);
    const next = restarted(dead);
    const [row] = await next.store.takeOver();
    if (row) await next.upkeep.finishCreate(row);
    expect(next.store.rows.get(id)?.status).toBe('ready');
    expect(next.provider.create.mock.lastCall?.[0]).toMatchObject({ env: { A: '1' } });
  });
});

describe('a restart of a sandbox that does not run', () => {
  test('goes through resuming, without asking for a slot, and says why', async () => {
    const setup = setUpWith({ maxConcurrent: 1 });
    workspaceIn(setup);
    const row = workspaceIn(setup);
    await setup.upkeep.restart(row, 'its container exited');
    expect(setup.store.rows.get(row.id)?.status).toBe('ready');
    expect(setup.store.events.events).toMatchObject([
      { type: 'workspace.resuming', detail: { reason: 'its container exited' } },
      { type: 'workspace.ready', actor: 'reconciler' },
    ]);
  });

  test('that may work later is tried again later', async () => {
    const setup = setUp();
    const row = workspaceIn(setup);
    const down = new EmergentError('provider_unavailable', 'no engine');
    setup.provider.resume.mockRejectedValueOnce(down);
    await expect(setup.upkeep.restart(row, 'it exited')).rejects.toBe(down);
    const [again] = await setup.store.takeOver();
    expect(again).toMatchObject({ id: row.id, status: 'resuming' });
    if (again) await setup.upkeep.finishResume(again);
    expect(setup.store.rows.get(row.id)?.status).toBe('ready');
  });

  test('leaves alone what somebody has stopped meanwhile', async () => {
    const setup = setUp();
    const row = workspaceIn(setup);
    await setup.workspaces.stop(alice, row.id);
    await setup.upkeep.restart(row, 'it exited');
    await setup.upkeep.markLost(row, 'no files');
    expect(setup.store.rows.get(row.id)?.status).toBe('stopped');
  });
});

test('a stopped one that runs is stopped again', async () => {
  const setup = setUp();
  const row = workspaceIn(setup, 'stopped');
  await setup.upkeep.stopAgain(row, 'somebody started it');
  expect(setup.provider.stop).toHaveBeenCalledTimes(1);
  expect(setup.store.rows.get(row.id)?.status).toBe('stopped');
});

test('a lost one says what is lost', async () => {
  const setup = setUp();
  const row = workspaceIn(setup);
  await setup.upkeep.markLost(row, 'its volume is gone');
  expect(setup.store.rows.get(row.id)).toMatchObject({
    status: 'error',
    statusReason: 'its volume is gone',
  });
});

test('a row that could not be released while the database was away is released when it is back', async () => {
  const setup = setUp();
  const { id } = workspaceIn(setup);
  const release = setup.store.release.bind(setup.store);
  setup.store.release = () => Promise.reject(new EmergentError('store_unavailable', 'away'));
  setup.provider.destroy.mockRejectedValueOnce(new Error('no engine'));
  await expect(setup.workspaces.destroy(alice, id)).rejects.toThrow('no engine');
  expect(await setup.store.abandoned()).toEqual([]);
  setup.store.release = release;
  await setup.clock.advance(2_000);
  expect((await setup.store.abandoned()).map((row) => row.id)).toEqual([id]);
});
