import { afterEach, describe, expect, test, vi } from 'vitest';
import { EmergentError } from '../../../src/domain/errors.ts';
import { FakeProvider, unhealthy } from './support/fake-provider.ts';
import { admin, alice, Gate, never, request, setUp } from './support/workspaces.ts';

const explicit = { ...request, provider: 'fake' };
const broken = new EmergentError('provider_failed', 'no space left');

describe('create', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  test('fills in the defaults and keeps what was really granted', async () => {
    const { workspaces, store, provider, clock } = setUp();
    const limits = { cpu: 8, diskBytes: 2 ** 30 };
    const created = await workspaces.create(alice, { ...explicit, limits }, never());
    expect(created).toMatchObject({
      status: 'ready',
      owner: 'alice',
      provider: 'fake',
      image: 'base',
      deploymentMode: 'self-hosted',
      resourceLimits: { cpu: 1, memoryBytes: 4 * 2 ** 30, diskBytes: 2 ** 30 },
      metadata: { purpose: 'test', isolation: 'gvisor' },
      createdAt: clock.now(),
      expiresAt: new Date(clock.now().getTime() + 3600 * 1000),
    });
    expect(store.rows.get(created.id)).toEqual(created);
    expect(provider.create.mock.calls[0]?.[0]).toMatchObject({
      workspaceId: created.id,
      sandboxName: created.providerWorkspaceId,
      limits: { cpu: 8 },
      env: { A: '1' },
    });
  });

  test('the row stands, with the name of the sandbox, before anything is created', async () => {
    const { workspaces, store, provider } = setUp();
    provider.create.mockImplementation(async (spec) => {
      expect(store.rows.get(spec.workspaceId)).toMatchObject({
        status: 'creating',
        providerWorkspaceId: spec.sandboxName,
      });
      throw broken;
    });
    await expect(workspaces.create(admin, explicit, never())).rejects.toBe(broken);
  });

  test('a create that fails leaves no row, and what it may have left is destroyed', async () => {
    const { workspaces, store, provider } = setUp();
    provider.create.mockImplementation(async (spec) => {
      provider.sandboxes.add(spec.sandboxName);
      throw broken;
    });
    await expect(workspaces.create(admin, explicit, never())).rejects.toBe(broken);
    expect([store.rows.size, provider.sandboxes.size]).toEqual([0, 0]);
  });

  test('if that clean-up fails too, the row says both reasons and is left to the reconciler', async () => {
    const { workspaces, store, provider } = setUp();
    provider.create.mockRejectedValue(broken);
    provider.destroy.mockRejectedValueOnce(new EmergentError('provider_failed', 'engine gone'));
    await expect(workspaces.create(admin, explicit, never())).rejects.toBe(broken);
    const [row] = store.rows.values();
    expect(row).toMatchObject({
      status: 'destroying',
      statusReason: expect.stringMatching(/no space left.*engine gone/) as unknown,
    });
    expect(await store.abandoned()).toEqual([row]);
    await workspaces.destroy(admin, row?.id ?? '');
    expect(store.rows.size).toBe(0);
  });

  test('an automatic choice that ends so lists every provider and its reason', async () => {
    const [first, second] = [new FakeProvider('vm', 'microvm'), new FakeProvider()];
    const { workspaces } = setUp(first, second);
    first.create.mockRejectedValue(new EmergentError('provider_failed', 'no KVM'));
    second.create.mockRejectedValue(broken);
    second.destroy.mockRejectedValueOnce(new EmergentError('provider_failed', 'engine gone'));
    await expect(workspaces.create(admin, request, never())).rejects.toMatchObject({
      code: 'provider_unavailable',
      message: expect.stringMatching(/vm: no KVM; fake: no space left/) as unknown,
      details: {
        providers: [
          { name: 'vm', reason: 'no KVM' },
          { name: 'fake', reason: 'no space left' },
        ],
      },
    });
  });

  test('if even the row cannot be changed, the first reason is the one reported', async () => {
    const { workspaces, store, provider, recorded } = setUp();
    provider.create.mockRejectedValue(broken);
    const down = new EmergentError('store_unavailable', 'no database');
    vi.spyOn(store, 'transition').mockRejectedValue(down);
    await expect(workspaces.create(admin, explicit, never())).rejects.toBe(broken);
    expect(recorded.lines.join('')).toContain('no database');
  });

  test('a caller that goes away gets its workspace undone', async () => {
    const { workspaces, store, provider } = setUp();
    const caller = new AbortController();
    const gone = new EmergentError('client_closed', 'gone');
    provider.create.mockImplementation(async (spec, signal) => {
      provider.sandboxes.add(spec.sandboxName);
      caller.abort(gone);
      return Promise.reject(signal.reason as Error);
    });
    await expect(workspaces.create(admin, explicit, caller.signal)).rejects.toBe(gone);
    expect([store.rows.size, provider.sandboxes.size]).toEqual([0, 0]);
  });

  test('a provider that finishes although the caller is gone leaves nothing either', async () => {
    const { workspaces, store, provider } = setUp();
    const caller = new AbortController();
    const gate = new Gate();
    const create = provider.create.getMockImplementation();
    provider.create.mockImplementation(async (spec, signal) => {
      await gate.pass();
      if (!create) throw new Error('no implementation');
      return create(spec, signal);
    });
    const gone = new EmergentError('client_closed', 'gone');
    const creating = workspaces.create(admin, explicit, caller.signal);
    const failed = expect(creating).rejects.toBe(gone);
    await gate.reached;
    caller.abort(gone);
    await new Promise((resolve) => setImmediate(resolve));
    expect(provider.destroy).not.toHaveBeenCalled();
    gate.open();
    await failed;
    expect([store.rows.size, provider.sandboxes.size]).toEqual([0, 0]);
  });

  test('a create that never ends is given up, and its row says so', async () => {
    vi.useFakeTimers();
    const { workspaces, store, provider } = setUp();
    provider.create.mockReturnValue(new Promise(() => undefined));
    const creating = workspaces.create(admin, explicit, never());
    const failed = expect(creating).rejects.toThrow('creating a workspace on fake did not finish');
    await vi.advanceTimersByTimeAsync(120_000);
    await failed;
    expect([...store.rows.values()]).toMatchObject([
      { status: 'destroying', statusReason: expect.stringContaining('did not finish') as unknown },
    ]);
  });

  test('destroyed while it is created: the create fails and nothing stays', async () => {
    const { workspaces, store, provider } = setUp();
    const gate = new Gate();
    const create = provider.create.getMockImplementation();
    provider.create.mockImplementation(async (spec, signal) => {
      await gate.pass();
      if (!create) throw new Error('no implementation');
      return create(spec, signal);
    });
    const creating = workspaces.create(admin, explicit, never());
    const failed = expect(creating).rejects.toMatchObject({ code: 'interrupted' });
    await gate.reached;
    const [id = ''] = store.rows.keys();
    const destroying = workspaces.destroy(admin, id);
    gate.open();
    await destroying;
    await failed;
    expect([store.rows.size, provider.sandboxes.size]).toEqual([0, 0]);
  });
});

describe('create on any provider', () => {
  test('takes the best one, and the next when that fails', async () => {
    const weak = new FakeProvider('weak', 'none');
    const second = new FakeProvider('second', 'gvisor');
    const best = new FakeProvider('best', 'microvm');
    best.create.mockRejectedValue(broken);
    const { workspaces, store } = setUp(weak, second, best);
    const created = await workspaces.create(admin, request, never());
    expect(created.provider).toBe('second');
    expect(store.rows.size).toBe(1);
    expect(best.create).toHaveBeenCalledTimes(1);
    expect(weak.create).not.toHaveBeenCalled();
  });

  test('a first attempt that could not be cleaned up does not stand in the way', async () => {
    const best = new FakeProvider('best', 'microvm');
    best.create.mockRejectedValue(broken);
    best.destroy.mockRejectedValue(new Error('stuck'));
    const { workspaces, store } = setUp(best, new FakeProvider('second'));
    const created = await workspaces.create(admin, request, never());
    expect(created).toMatchObject({ provider: 'second', status: 'ready' });
    const rows = [...store.rows.values()].map(({ provider, status }) => [provider, status]);
    expect(rows).toEqual([
      ['best', 'destroying'],
      ['second', 'ready'],
    ]);
  });

  test('when none can, every provider is named with its reason', async () => {
    const sick = new FakeProvider('sick', 'microvm');
    sick.health.mockResolvedValue(unhealthy('no kvm'));
    const failing = new FakeProvider('failing');
    failing.create.mockRejectedValue(broken);
    const { workspaces, store } = setUp(new FakeProvider('weak', 'none'), sick, failing);
    await expect(workspaces.create(admin, request, never())).rejects.toMatchObject({
      code: 'provider_unavailable',
      message: expect.stringMatching(/weak: .*sick: no kvm.*failing: no space left/) as unknown,
      details: {
        providers: [
          { name: 'weak', reason: expect.stringContaining('UNSANDBOXED') as unknown },
          { name: 'sick', reason: 'no kvm' },
          { name: 'failing', reason: 'no space left' },
        ],
      },
    });
    expect(store.rows.size).toBe(0);
  });

  test.each(['invalid_value', 'image_not_found'] as const)(
    "what is the caller's fault (%s) is not tried elsewhere",
    async (code) => {
      const best = new FakeProvider('best', 'microvm');
      const second = new FakeProvider('second');
      best.create.mockRejectedValue(new EmergentError(code, 'no'));
      const { workspaces } = setUp(best, second);
      await expect(workspaces.create(admin, request, never())).rejects.toMatchObject({ code });
      expect(second.create).not.toHaveBeenCalled();
    },
  );

  test('nothing is tried elsewhere for a caller that is gone', async () => {
    const best = new FakeProvider('best', 'microvm');
    const second = new FakeProvider('second');
    const caller = new AbortController();
    best.create.mockImplementation(async () => {
      caller.abort(new EmergentError('client_closed', 'gone'));
      throw broken;
    });
    const { workspaces } = setUp(best, second);
    await expect(workspaces.create(admin, request, caller.signal)).rejects.toThrow();
    expect(second.create).not.toHaveBeenCalled();
  });

  test('an explicit provider that is not healthy is never replaced by another', async () => {
    const sick = new FakeProvider('fake');
    sick.health.mockResolvedValue(unhealthy());
    const other = new FakeProvider('other');
    const { workspaces, store } = setUp(sick, other);
    await expect(workspaces.create(admin, explicit, never())).rejects.toMatchObject({
      ...{ code: 'provider_unavailable', message: 'fake: no engine', hint: 'Start it.' },
    });
    expect(other.create).not.toHaveBeenCalled();
    expect(store.rows.size).toBe(0);
  });
});
