import { describe, expect, test } from 'vitest';
import { EmergentError } from '../../../src/domain/errors.ts';
import { FakeProvider } from './support/fake-provider.ts';
import {
  alice,
  Gate,
  never,
  request,
  setUp,
  setUpWith,
  workspaceIn,
} from './support/workspaces.ts';

const broken = new EmergentError('provider_failed', 'no space left');
const unheard = { ...request, wait: false };

describe('the limit of concurrent workspaces', () => {
  test('refuses one too many, says how many run and what to do, and makes nothing', async () => {
    const setup = setUpWith({ maxConcurrent: 2 });
    workspaceIn(setup, 'ready');
    workspaceIn(setup, 'resuming');
    workspaceIn(setup, 'stopped');
    workspaceIn(setup, 'ready', { containerType: 'mcp_server' });
    await expect(setup.workspaces.create(alice, request, never())).rejects.toMatchObject({
      code: 'limit_reached',
      message: 'the limit of 2 concurrent workspaces has been reached',
      hint: expect.stringMatching(/Wait .*destroy/) as unknown,
      details: { limit: 2, running: 2 },
    });
    expect(setup.provider.create).not.toHaveBeenCalled();
    expect(setup.store.rows.size).toBe(4);
  });

  test('a create that fails gives its slot back', async () => {
    const setup = setUpWith({ maxConcurrent: 1 });
    setup.provider.create.mockRejectedValueOnce(broken);
    await expect(setup.workspaces.create(alice, request, never())).rejects.toThrow();
    expect((await setup.workspaces.create(alice, request, never())).status).toBe('ready');
  });

  test('an admission whose answer is lost is given up', async () => {
    const setup = setUp();
    const admit = setup.store.admit.bind(setup.store);
    setup.store.admit = async (row, limit) => {
      await admit(row, limit);
      throw new EmergentError('store_unavailable', 'connection lost');
    };
    await expect(setup.workspaces.create(alice, request, never())).rejects.toThrow('lost');
    expect(await setup.store.abandoned()).toHaveLength(1);
  });
});

describe('a create that nobody waits for', () => {
  test('answers at once and becomes ready by itself', async () => {
    const setup = setUp();
    const gate = new Gate();
    const create = setup.provider.create.getMockImplementation();
    setup.provider.create.mockImplementationOnce(async (spec, signal) => {
      await gate.pass();
      if (!create) throw new Error('no implementation');
      return create(spec, signal);
    });
    const caller = new AbortController();
    const row = await setup.workspaces.create(alice, unheard, caller.signal);
    expect(row).toMatchObject({ status: 'creating', announced: true });
    caller.abort();
    await gate.reached;
    gate.open();
    await setup.clock.advance(0);
    expect(setup.store.rows.get(row.id)?.status).toBe('ready');
  });

  test('that fails says why in its row, and can be recovered', async () => {
    const setup = setUp();
    setup.provider.create.mockRejectedValueOnce(broken);
    const { id } = await setup.workspaces.create(alice, unheard, never());
    await setup.clock.advance(0);
    expect(setup.store.rows.get(id)).toMatchObject({
      status: 'error',
      statusReason: expect.stringContaining('no space left') as unknown,
    });
    expect(setup.provider.sandboxes.size).toBe(0);
    expect((await setup.workspaces.recover(alice, id)).status).toBe('ready');
  });

  test('keeps its id when a second provider has to make it, and tells of the first', async () => {
    const best = new FakeProvider('best', 'microvm');
    best.create.mockRejectedValue(broken);
    const setup = setUp(best, new FakeProvider('second'));
    const { id } = await setup.workspaces.create(alice, unheard, never());
    await setup.clock.advance(0);
    expect(setup.store.rows.get(id)).toMatchObject({
      status: 'ready',
      provider: 'second',
      metadata: {
        attempts: [
          { provider: 'best', result: 'failed', reason: 'no space left' },
          { provider: 'second', result: 'created' },
        ],
      },
    });
  });
});
