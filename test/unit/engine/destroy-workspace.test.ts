import { describe, expect, test } from 'vitest';
import { EmergentError } from '../../../src/domain/errors.ts';
import { workspaceStatuses } from '../../../src/domain/workspace.ts';
import { admin, alice, bob, Gate, setUp, setUpWith, workspaceIn } from './support/workspaces.ts';

describe('destroy', () => {
  test.each(workspaceStatuses)('is legal in the state %s', async (status) => {
    const setup = setUp();
    const { id } = workspaceIn(setup, status);
    await setup.workspaces.destroy(alice, id);
    expect([setup.store.rows.size, setup.provider.sandboxes.size]).toEqual([0, 0]);
  });

  test('the row goes only after the sandbox', async () => {
    const setup = setUp();
    const { id } = workspaceIn(setup);
    setup.provider.destroy.mockImplementation(async () => {
      expect(setup.store.rows.get(id)?.status).toBe('destroying');
    });
    await setup.workspaces.destroy(admin, id);
    expect(setup.store.rows.size).toBe(0);
  });

  test('twice at once is one call of the provider, and both get its answer', async () => {
    const setup = setUp();
    const { id } = workspaceIn(setup);
    const gate = new Gate();
    setup.provider.destroy.mockImplementation(() => gate.pass());
    const first = setup.workspaces.destroy(alice, id);
    await gate.reached;
    const second = setup.workspaces.destroy(alice, id);
    gate.open();
    await Promise.all([first, second]);
    expect(setup.provider.destroy).toHaveBeenCalledTimes(1);
    const gone = setup.workspaces.destroy(alice, id);
    await expect(gone).rejects.toMatchObject({ code: 'workspace_not_found' });
  });

  test('one that fails fails for both, and can be asked for again', async () => {
    const setup = setUp();
    const { id } = workspaceIn(setup);
    const down = new EmergentError('provider_unavailable', 'engine unreachable');
    const gate = new Gate();
    setup.provider.destroy.mockImplementationOnce(async () => {
      await gate.pass();
      throw down;
    });
    const both = Promise.allSettled([1, 2].map(() => setup.workspaces.destroy(alice, id)));
    await gate.reached;
    gate.open();
    const goesOn = {
      code: 'provider_unavailable',
      message: expect.stringContaining('engine unreachable') as unknown,
      hint: expect.stringContaining('goes on trying') as unknown,
    };
    expect(
      (await both).map((outcome) => 'reason' in outcome && (outcome.reason as unknown)),
    ).toEqual([expect.objectContaining(goesOn), expect.objectContaining(goesOn)]);
    expect(setup.store.rows.get(id)?.status).toBe('destroying');
    expect(await setup.store.abandoned()).toHaveLength(1);
    await setup.workspaces.destroy(alice, id);
    expect([setup.store.rows.size, setup.provider.sandboxes.size]).toEqual([0, 0]);
  });

  test('an agent is not told of the end of what it does not own', async () => {
    const setup = setUp();
    const { id } = workspaceIn(setup);
    const gate = new Gate();
    setup.provider.destroy.mockImplementation(async () => {
      setup.store.rows.delete(id);
      await gate.pass();
    });
    const owner = setup.workspaces.destroy(alice, id);
    await gate.reached;
    const other = setup.workspaces.destroy(bob, id);
    await expect(other).rejects.toMatchObject({ code: 'workspace_not_found' });
    gate.open();
    await owner;
  });
});

describe('destroy on two servers', () => {
  test('the second waits for the first and answers the same', async () => {
    const first = setUp();
    const second = setUpWith({ beside: first });
    const { id } = workspaceIn(first);
    const gate = new Gate();
    first.provider.destroy.mockImplementationOnce(() => gate.pass());
    const destroying = first.workspaces.destroy(alice, id);
    await gate.reached;
    const waiting = second.workspaces.destroy(alice, id);
    await first.clock.whenSleeping();
    gate.open();
    await destroying;
    await first.clock.advance(250);
    await waiting;
    expect(first.provider.destroy).toHaveBeenCalledTimes(1);
  });

  test('a first that has died is not waited for', async () => {
    const dead = setUp();
    const { id } = workspaceIn(dead);
    dead.provider.destroy.mockImplementationOnce(() => new Promise(() => undefined));
    void dead.workspaces.destroy(alice, id);
    await dead.clock.advance(0);
    const alive = setUpWith({ beside: dead });
    dead.store.alive.delete(dead.store.server);
    await alive.workspaces.destroy(alice, id);
    expect(alive.store.rows.size).toBe(0);
  });
});

describe('who sees what', () => {
  test('an agent sees and uses only its own; an admin sees all', async () => {
    const setup = setUp();
    const { workspaces } = setup;
    const { id: hers } = workspaceIn(setup, 'ready', { owner: 'alice' });
    const { id: his } = workspaceIn(setup, 'ready', { owner: 'bob' });
    const notFound = { code: 'workspace_not_found' };
    const listed = await workspaces.list(alice, { limit: 10 });
    expect(listed.items.map(({ id }) => id)).toEqual([hers]);
    expect((await workspaces.list(admin, { limit: 10 })).items).toHaveLength(2);
    expect((await workspaces.get(alice, hers)).id).toBe(hers);
    await expect(workspaces.get(alice, his)).rejects.toMatchObject(notFound);
    await expect(workspaces.destroy(alice, his)).rejects.toMatchObject(notFound);
    expect(setup.provider.destroy).not.toHaveBeenCalled();
    expect((await workspaces.get(admin, his)).id).toBe(his);
  });

  test('what does not exist and what is hidden look the same', async () => {
    const setup = setUp();
    const { id } = workspaceIn(setup, 'ready', { owner: 'bob' });
    const hidden = await setup.workspaces.get(alice, id).catch((error: unknown) => error);
    setup.store.rows.clear();
    const missing = await setup.workspaces.get(alice, id).catch((error: unknown) => error);
    expect(hidden).toEqual(missing);
  });
});

test('the status of a provider counts its workspaces', async () => {
  const setup = setUp();
  workspaceIn(setup);
  workspaceIn(setup, 'stopped');
  expect(await setup.workspaces.providerStatuses()).toMatchObject([
    { name: 'fake', activeWorkspaces: 2, health: { state: 'healthy' } },
  ]);
});
