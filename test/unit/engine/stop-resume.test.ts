import { describe, expect, test } from 'vitest';
import { EmergentError } from '../../../src/domain/errors.ts';
import { workspaceStatuses } from '../../../src/domain/workspace.ts';
import type { WorkspaceStatus } from '../../../src/domain/workspace.ts';
import { alice, bob, Gate, request, setUp, setUpWith, workspaceIn } from './support/workspaces.ts';
import type { Setup } from './support/workspaces.ts';

const engineDown = new EmergentError('provider_unavailable', 'engine unreachable');
const imageGone = new EmergentError('image_not_found', 'no such image');
const ttl = { ttlSeconds: 3_600, expiresAt: new Date('2030-01-01T00:10:00Z') };

function typesOf({ store }: Setup): readonly string[] {
  return store.events.events.map(({ type }) => type);
}

describe('stop', () => {
  test('goes through stopping to stopped and notes the use', async () => {
    const setup = setUp();
    const { id } = workspaceIn(setup, 'ready', ttl);
    setup.provider.stop.mockImplementationOnce(async () => {
      expect(setup.store.rows.get(id)?.status).toBe('stopping');
    });
    const stopped = await setup.workspaces.stop(alice, id);
    const now = setup.clock.now();
    expect(stopped).toMatchObject({
      status: 'stopped',
      desiredState: 'stopped',
      lastUsedAt: now,
      expiresAt: new Date(now.getTime() + 3_600_000),
    });
    expect(typesOf(setup)).toEqual(['workspace.stopping', 'workspace.stopped']);
  });

  test('of a stopped one answers with it and does nothing', async () => {
    const setup = setUp();
    const row = workspaceIn(setup, 'stopped');
    expect(await setup.workspaces.stop(alice, row.id)).toEqual(row);
    expect(setup.provider.stop).not.toHaveBeenCalled();
  });

  test('twice at once is one stop, and both get its answer', async () => {
    const setup = setUp();
    const { id } = workspaceIn(setup);
    const gate = new Gate();
    setup.provider.stop.mockImplementation(() => gate.pass());
    const first = setup.workspaces.stop(alice, id);
    await gate.reached;
    const second = setup.workspaces.stop(alice, id);
    gate.open();
    expect(await second).toEqual(await first);
    expect(setup.provider.stop).toHaveBeenCalledTimes(1);
  });

  test('while another server stops it, waits for that', async () => {
    const first = setUp();
    const second = setUpWith({ beside: first });
    const { id } = workspaceIn(first);
    const gate = new Gate();
    first.provider.stop.mockImplementation(() => gate.pass());
    const stopping = first.workspaces.stop(alice, id);
    await gate.reached;
    const waiting = second.workspaces.stop(alice, id);
    await first.clock.whenSleeping();
    gate.open();
    await stopping;
    await first.clock.advance(250);
    expect(await waiting).toMatchObject({ status: 'stopped' });
    expect(first.provider.stop).toHaveBeenCalledTimes(1);
  });

  test('that fails says that it goes on, and leaves the row to the reconciler', async () => {
    const setup = setUp();
    const { id } = workspaceIn(setup);
    setup.provider.stop.mockRejectedValueOnce(engineDown);
    await expect(setup.workspaces.stop(alice, id)).rejects.toMatchObject({
      code: 'provider_unavailable',
      hint: expect.stringContaining('goes on trying') as unknown,
    });
    const [row] = await setup.store.takeOver();
    expect(row).toMatchObject({ id, status: 'stopping' });
    if (row) await setup.upkeep.finishStop(row);
    expect(setup.store.rows.get(id)?.status).toBe('stopped');
  });

  const others = workspaceStatuses.filter(
    (status) => !['ready', 'stopping', 'stopped'].includes(status),
  );
  test.each(others)('of one that is %s is refused with its state', async (status) => {
    const setup = setUp();
    const { id } = workspaceIn(setup, status);
    await expect(setup.workspaces.stop(alice, id)).rejects.toMatchObject({
      code: 'wrong_state',
      message: `workspace ${id} is ${status}`,
      details: { status },
    });
    expect(setup.provider.stop).not.toHaveBeenCalled();
  });

  test("of somebody else's does not find it", async () => {
    const setup = setUp();
    const { id } = workspaceIn(setup);
    const missing = { code: 'workspace_not_found' };
    await expect(setup.workspaces.stop(bob, id)).rejects.toMatchObject(missing);
    await expect(setup.workspaces.resume(bob, id)).rejects.toMatchObject(missing);
    await expect(setup.workspaces.recover(bob, id)).rejects.toMatchObject(missing);
  });
});

describe('resume', () => {
  test('goes through resuming to ready, moves the expiry and opens the environment', async () => {
    const setup = setUp();
    const { id } = await setup.workspaces.create(
      alice,
      { ...request, env: { A: 'secret' } },
      new AbortController().signal,
    );
    await setup.workspaces.stop(alice, id);
    await setup.clock.advance(1_000_000);
    const resumed = await setup.workspaces.resume(alice, id);
    expect(resumed).toMatchObject({ status: 'ready', desiredState: 'running' });
    expect(resumed.expiresAt?.getTime()).toBe(setup.clock.now().getTime() + 3_600_000);
    expect(setup.provider.resume.mock.calls[0]?.[1]).toMatchObject({ env: { A: 'secret' } });
  });

  test('takes a slot of the limit', async () => {
    const setup = setUpWith({ maxConcurrent: 1 });
    workspaceIn(setup, 'ready');
    const { id } = workspaceIn(setup, 'stopped');
    await expect(setup.workspaces.resume(alice, id)).rejects.toMatchObject({
      code: 'limit_reached',
      details: { limit: 1, running: 1 },
    });
    expect(setup.store.rows.get(id)?.status).toBe('stopped');
    expect(setup.provider.resume).not.toHaveBeenCalled();
  });

  const failures: readonly [string, EmergentError, WorkspaceStatus][] = [
    ['may work later goes back to stopped', engineDown, 'stopped'],
    ['will not work later goes to error', imageGone, 'error'],
  ];
  test.each(failures)('that %s, with the reason', async (_, failure, status) => {
    const setup = setUp();
    const { id } = workspaceIn(setup, 'stopped');
    setup.provider.resume.mockRejectedValueOnce(failure);
    await expect(setup.workspaces.resume(alice, id)).rejects.toBe(failure);
    expect(setup.store.rows.get(id)).toMatchObject({
      status,
      statusReason: `it could not be resumed: ${failure.message}`,
    });
  });

  test('of a ready one answers with it', async () => {
    const setup = setUp();
    const row = workspaceIn(setup, 'ready');
    expect(await setup.workspaces.resume(alice, row.id)).toEqual(row);
    expect(await setup.workspaces.recover(alice, row.id)).toEqual(row);
  });

  test('of one in error is refused and names the way out', async () => {
    const setup = setUp();
    const { id } = workspaceIn(setup, 'error', { statusReason: 'it broke' });
    await expect(setup.workspaces.resume(alice, id)).rejects.toMatchObject({
      message: `workspace ${id} is error: it broke`,
      hint: expect.stringContaining('recover') as unknown,
    });
  });

  test('destroyed in the middle: the resume is called off and nothing stays', async () => {
    const setup = setUp();
    const { id } = workspaceIn(setup, 'stopped');
    const reached = Promise.withResolvers<void>();
    setup.provider.resume.mockImplementationOnce((_ref, _spec, signal) => {
      reached.resolve();
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          reject(signal.reason as Error);
        });
      });
    });
    const resuming = setup.workspaces.resume(alice, id);
    const failed = expect(resuming).rejects.toMatchObject({ code: 'interrupted' });
    await reached.promise;
    await setup.workspaces.destroy(alice, id);
    await failed;
    expect([setup.store.rows.size, setup.provider.sandboxes.size]).toEqual([0, 0]);
  });
});

describe('recover', () => {
  test('brings one in error back, and its reason goes', async () => {
    const setup = setUp();
    const { id } = workspaceIn(setup, 'error', { statusReason: 'it broke' });
    expect(await setup.workspaces.recover(alice, id)).toMatchObject({
      status: 'ready',
      statusReason: null,
    });
    expect(setup.provider.resume).toHaveBeenCalledTimes(1);
  });

  test('makes one that never was ready', async () => {
    const setup = setUp();
    const { id } = workspaceIn(setup, 'error', { readyAt: null });
    const recovered = await setup.workspaces.recover(alice, id);
    expect(recovered).toMatchObject({ status: 'ready', readyAt: setup.clock.now() });
    expect(setup.provider.create).toHaveBeenCalledTimes(1);
    expect(setup.provider.resume).not.toHaveBeenCalled();
  });

  test('of one whose files are gone says so and stays in error', async () => {
    const setup = setUp();
    const row = workspaceIn(setup, 'error');
    setup.provider.lost.add(row.providerWorkspaceId);
    await expect(setup.workspaces.recover(alice, row.id)).rejects.toMatchObject({
      code: 'files_lost',
    });
    expect(setup.store.rows.get(row.id)?.status).toBe('error');
  });

  test('of a stopped one is refused and names the way out', async () => {
    const setup = setUp();
    const { id } = workspaceIn(setup, 'stopped');
    await expect(setup.workspaces.recover(alice, id)).rejects.toMatchObject({
      code: 'wrong_state',
      hint: expect.stringContaining('resume') as unknown,
    });
  });
});
