import { describe, expect, test } from 'vitest';
import { EmergentError } from '../../../src/domain/errors.ts';
import { workspaceStatuses } from '../../../src/domain/workspace.ts';
import type { WorkspaceStatus } from '../../../src/domain/workspace.ts';
import { newWorkspace } from '../../store/fixtures/workspaces.ts';
import { admin, alice, bob, Gate, never, request, setUp } from './support/workspaces.ts';
import type { Setup } from './support/workspaces.ts';

/** A row in the given state, and its sandbox. */
async function workspaceIn(
  { store, provider }: Setup,
  status: WorkspaceStatus = 'ready',
  owner = 'alice',
): Promise<string> {
  const row = await store.insert(newWorkspace({ status, owner, provider: 'fake' }));
  provider.sandboxes.add(row.providerWorkspaceId);
  return row.id;
}

describe('destroy', () => {
  test.each(workspaceStatuses)('is legal in the state %s', async (status) => {
    const setup = setUp();
    const id = await workspaceIn(setup, status);
    await setup.workspaces.destroy(alice, id);
    expect([setup.store.rows.size, setup.provider.sandboxes.size]).toEqual([0, 0]);
  });

  test('the row goes only after the sandbox', async () => {
    const setup = setUp();
    const id = await workspaceIn(setup);
    setup.provider.destroy.mockImplementation(async () => {
      expect(setup.store.rows.get(id)?.status).toBe('destroying');
    });
    await setup.workspaces.destroy(admin, id);
    expect(setup.store.rows.size).toBe(0);
  });

  test('twice at once is one call of the provider, and both get its answer', async () => {
    const setup = setUp();
    const id = await workspaceIn(setup);
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
    const id = await workspaceIn(setup);
    const down = new EmergentError('provider_unavailable', 'engine unreachable');
    const gate = new Gate();
    setup.provider.destroy.mockImplementationOnce(async () => {
      await gate.pass();
      throw down;
    });
    const both = Promise.allSettled([1, 2].map(() => setup.workspaces.destroy(alice, id)));
    await gate.reached;
    gate.open();
    expect((await both).map((outcome) => 'reason' in outcome && (outcome.reason as Error))).toEqual(
      [down, down],
    );
    expect(setup.store.rows.get(id)?.status).toBe('destroying');
    await setup.workspaces.destroy(alice, id);
    expect([setup.store.rows.size, setup.provider.sandboxes.size]).toEqual([0, 0]);
  });

  test('an agent is not told of the end of what it does not own', async () => {
    const setup = setUp();
    const id = await workspaceIn(setup);
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

describe('who sees what', () => {
  test('an agent sees and uses only its own; an admin sees all', async () => {
    const setup = setUp();
    const { workspaces } = setup;
    const [hers, his] = [
      await workspaceIn(setup, 'ready', 'alice'),
      await workspaceIn(setup, 'ready', 'bob'),
    ];
    const notFound = { code: 'workspace_not_found' };
    const listed = await workspaces.list(alice, { limit: 10 });
    expect(listed.items.map(({ id }) => id)).toEqual([hers]);
    expect((await workspaces.list(admin, { limit: 10 })).items).toHaveLength(2);
    expect((await workspaces.get(alice, hers)).id).toBe(hers);
    await expect(workspaces.get(alice, his)).rejects.toMatchObject(notFound);
    await expect(workspaces.ready(alice, his)).rejects.toMatchObject(notFound);
    await expect(workspaces.destroy(alice, his)).rejects.toMatchObject(notFound);
    expect(setup.provider.destroy).not.toHaveBeenCalled();
    expect((await workspaces.get(admin, his)).id).toBe(his);
  });

  test('what does not exist and what is hidden look the same', async () => {
    const setup = setUp();
    const id = await workspaceIn(setup, 'ready', 'bob');
    const hidden = await setup.workspaces.get(alice, id).catch((error: unknown) => error);
    setup.store.rows.clear();
    const missing = await setup.workspaces.get(alice, id).catch((error: unknown) => error);
    expect(hidden).toEqual(missing);
  });
});

describe('ready', () => {
  test('gives the provider and the name of the sandbox', async () => {
    const { workspaces, provider } = setUp();
    const created = await workspaces.create(alice, request, never());
    const { provider: found, ref } = await workspaces.ready(alice, created.id);
    expect(found).toBe(provider);
    expect(ref).toEqual({
      workspaceId: created.id,
      sandboxName: created.providerWorkspaceId,
    });
  });

  test.each(workspaceStatuses.filter((status) => status !== 'ready'))(
    'refuses a workspace that is %s, with the reason',
    async (status) => {
      const setup = setUp();
      const id = await workspaceIn(setup, status);
      await setup.store.transition(id, [status], status, { statusReason: 'disk broke' });
      await expect(setup.workspaces.ready(alice, id)).rejects.toMatchObject({
        code: 'wrong_state',
        message: `workspace ${id} is ${status}: disk broke`,
        details: { status },
      });
    },
  );
});

test('the status of a provider counts its workspaces', async () => {
  const setup = setUp();
  await workspaceIn(setup);
  await workspaceIn(setup, 'stopped');
  expect(await setup.workspaces.providerStatuses()).toMatchObject([
    { name: 'fake', activeWorkspaces: 2, health: { state: 'healthy' } },
  ]);
});
