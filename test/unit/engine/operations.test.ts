import { describe, expect, test } from 'vitest';
import { EmergentError } from '../../../src/domain/errors.ts';
import { workspaceStatuses } from '../../../src/domain/workspace.ts';
import { Activity } from '../../../src/engine/activity.ts';
import { Operations } from '../../../src/engine/operations.ts';
import { providersOf } from './support/providers.ts';
import { admin, alice, bob, setUp, workspaceIn } from './support/workspaces.ts';
import type { Setup } from './support/workspaces.ts';

const hour = 3_600_000;
const ttl = { ttlSeconds: 3_600, expiresAt: new Date('2030-01-01T00:10:00Z') };

interface Bench extends Setup {
  readonly operations: Operations;
  readonly activity: Activity;
  readonly unreachable: string[];
}

function bench(): Bench {
  const setup = setUp();
  const { store, clock, provider } = setup;
  const { log } = setup.recorded;
  const activity = new Activity(store, clock, log);
  const unreachable: string[] = [];
  const operations = new Operations({
    ...{ store, events: store.events, activity, clock, log },
    providers: providersOf([provider], clock),
    onUnreachable: (id) => unreachable.push(id),
  });
  return { ...setup, operations, activity, unreachable };
}

describe('an operation', () => {
  test('notes the use when it begins and when it ends, and leaves an event', async () => {
    const { operations, store, clock, ...setup } = bench();
    const { id } = workspaceIn({ ...setup, store, clock }, 'ready', ttl);
    const started = clock.now();
    await operations.run(alice, id, 'write_file', '/workspace/a', async ({ ref }) => {
      expect(ref.workspaceId).toBe(id);
      expect(store.rows.get(id)).toMatchObject({
        lastUsedAt: started,
        expiresAt: new Date(started.getTime() + hour),
      });
      await clock.advance(5_000);
    });
    expect(store.rows.get(id)?.expiresAt).toEqual(new Date(started.getTime() + hour + 5_000));
    expect(store.events.events).toMatchObject([
      {
        type: 'tool.write_file',
        workspaceId: id,
        owner: 'alice',
        actor: 'alice',
        detail: { subject: '/workspace/a', duration_ms: 5_000, result: 'ok' },
      },
    ]);
  });

  test('cuts what it tells of a command', async () => {
    const { operations, ...setup } = bench();
    const { id } = workspaceIn(setup);
    await operations.run(alice, id, 'bash', 'x'.repeat(1_000), async () => undefined);
    expect(setup.store.events.events[0]?.detail['subject']).toBe(`${'x'.repeat(199)}…`);
  });

  test('keeps its workspace in use for as long as it runs', async () => {
    const { operations, activity, clock, store, ...setup } = bench();
    const { id } = workspaceIn({ ...setup, clock, store }, 'ready', ttl);
    const operation = await operations.begin(alice, id, 'bash', 'sleep 3h');
    expect([activity.busy(), activity.operations]).toEqual([[id], 1]);
    await clock.advance(3 * hour);
    expect(store.rows.get(id)?.expiresAt).toEqual(new Date(clock.now().getTime() + hour));
    await operation.succeeded({ exit_code: 0 });
    expect([activity.busy(), activity.operations]).toEqual([[], 0]);
    await clock.advance(hour);
    expect(store.rows.get(id)?.expiresAt).toEqual(clock.now());
  });

  test.each(workspaceStatuses.filter((status) => status !== 'ready'))(
    'is refused in a workspace that is %s, with the reason',
    async (status) => {
      const { operations, activity, ...setup } = bench();
      const row = workspaceIn(setup, status, { statusReason: 'disk broke' });
      const begun = operations.begin(alice, row.id, 'bash', 'true');
      await expect(begun).rejects.toMatchObject({
        code: 'wrong_state',
        message: `workspace ${row.id} is ${status}: disk broke`,
        details: { status },
      });
      expect(activity.operations).toBe(0);
      expect(setup.store.rows.get(row.id)).toEqual(row);
    },
  );

  test("in somebody else's workspace is refused without a trace", async () => {
    const { operations, ...setup } = bench();
    const row = workspaceIn(setup, 'ready', ttl);
    const missing = { code: 'workspace_not_found' };
    await expect(operations.begin(bob, row.id, 'bash', 'true')).rejects.toMatchObject(missing);
    await expect(operations.look(bob, row.id)).rejects.toMatchObject(missing);
    expect(setup.store.rows.get(row.id)).toEqual(row);
    await operations.run(admin, row.id, 'bash', 'true', async () => undefined);
  });

  test('that a vanished workspace ends is told as interrupted', async () => {
    const { operations, unreachable, ...setup } = bench();
    const lost = new EmergentError('sandbox_unreachable', 'the link broke');
    const { id } = workspaceIn(setup);
    const running = operations.run(alice, id, 'bash', 'true', async () => {
      setup.store.rows.delete(id);
      throw lost;
    });
    await expect(running).rejects.toMatchObject({
      code: 'interrupted',
      message: expect.stringContaining('is destroyed') as unknown,
    });
    expect(setup.store.events.events.at(-1)?.detail).toMatchObject({ result: 'interrupted' });
    expect(unreachable).toEqual([]);
  });

  test('in a ready workspace that does not answer asks for somebody to look', async () => {
    const { operations, unreachable, ...setup } = bench();
    const lost = new EmergentError('sandbox_unreachable', 'the link broke');
    const { id } = workspaceIn(setup);
    const running = operations.run(alice, id, 'bash', 'true', () => Promise.reject(lost));
    await expect(running).rejects.toBe(lost);
    expect(unreachable).toEqual([id]);
  });

  test('is not spoilt by a log that cannot be written', async () => {
    const { operations, recorded, activity, ...setup } = bench();
    const { id } = workspaceIn({ ...setup, recorded });
    setup.store.events.recordCalls = () => Promise.reject(new Error('no database'));
    expect(await operations.run(alice, id, 'bash', 'true', async () => 'done')).toBe('done');
    expect(recorded.lines.join('')).toContain('no database');
    expect(activity.operations).toBe(0);
  });
});

describe('an operation around a stream', () => {
  async function* source(): AsyncGenerator<number> {
    yield 1;
    yield 2;
  }

  test('ends with it', async () => {
    const { operations, activity, ...setup } = bench();
    const { id } = workspaceIn(setup);
    const operation = await operations.begin(alice, id, 'read_file', 'f');
    expect(await Array.fromAsync(operation.around(source()))).toEqual([1, 2]);
    expect(activity.operations).toBe(0);
    expect(setup.store.events.events).toMatchObject([{ detail: { result: 'ok' } }]);
  });

  test('ends when its reader leaves', async () => {
    const { operations, activity, ...setup } = bench();
    const { id } = workspaceIn(setup);
    const operation = await operations.begin(alice, id, 'read_file', 'f');
    for await (const item of operation.around(source())) if (item === 1) break;
    expect(activity.operations).toBe(0);
    expect(setup.store.events.events).toMatchObject([{ detail: { result: 'client_closed' } }]);
  });

  test('ends when its reader never began', async () => {
    const { operations, activity, clock, ...setup } = bench();
    const { id } = workspaceIn({ ...setup, clock });
    const operation = await operations.begin(alice, id, 'read_file', 'f');
    const caller = new AbortController();
    operation.around(source(), caller.signal);
    expect(activity.operations).toBe(1);
    caller.abort();
    await clock.advance(0);
    expect(activity.operations).toBe(0);
  });
});
