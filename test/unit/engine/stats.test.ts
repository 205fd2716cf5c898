import { describe, expect, test, vi } from 'vitest';
import { EmergentError } from '../../../src/domain/errors.ts';
import type { SandboxStats, WorkspaceProvider } from '../../../src/domain/provider.ts';
import { workspaceStatuses } from '../../../src/domain/workspace.ts';
import { Stats } from '../../../src/engine/stats.ts';
import { FakeProvider } from './support/fake-provider.ts';
import { providersOf } from './support/providers.ts';
import { Gate, admin, alice, bob, never, setUp, workspaceIn } from './support/workspaces.ts';
import type { Setup } from './support/workspaces.ts';

type Read = NonNullable<WorkspaceProvider['stats']>;

class MeasuredProvider extends FakeProvider {
  readonly stats = vi.fn<Read>();
}

interface Bench extends Setup {
  readonly provider: MeasuredProvider;
  readonly stats: Stats;
  /** CPU seconds that the next readings tell. */
  cpu: number;
}

function bench(): Bench {
  const provider = new MeasuredProvider();
  const setup = setUp(provider);
  const { store, clock } = setup;
  const stats = new Stats({ store, clock, providers: providersOf([provider], clock) });
  const made = { ...setup, provider, stats, cpu: 0 };
  provider.stats.mockImplementation(async () => reading(clock.now(), made.cpu));
  return made;
}

function reading(at: Date, cpuSeconds: number | null, frozen = false): SandboxStats {
  return { at, frozen, cpuSeconds, memoryBytes: 1, diskBytes: 2, processes: 3 };
}

describe('the use of a workspace', () => {
  test('tells CPU at the first question, from two readings', async () => {
    const on = bench();
    const { id } = workspaceIn(on);
    const asked = on.stats.get(alice, id, never());
    await on.clock.whenSleeping();
    on.cpu = 0.25;
    await on.clock.advance(500);
    expect(await asked).toMatchObject({ cpuPercent: 50, stats: { memoryBytes: 1 } });
    expect(on.provider.stats).toHaveBeenCalledTimes(2);
  });

  test('tells it from the last reading when that is seconds old, not when it is older', async () => {
    const on = bench();
    const { id } = workspaceIn(on);
    const first = on.stats.get(alice, id, never());
    await on.clock.whenSleeping();
    await on.clock.advance(500);
    expect((await first).cpuPercent).toBe(0);
    await on.clock.advance(2_000);
    on.cpu = 3;
    expect((await on.stats.get(alice, id, never())).cpuPercent).toBe(150);
    expect(on.provider.stats).toHaveBeenCalledTimes(3);

    await on.clock.advance(60_000);
    const late = on.stats.get(alice, id, never());
    await on.clock.whenSleeping();
    await on.clock.advance(500);
    expect((await late).cpuPercent).toBe(0);
    expect(on.provider.stats).toHaveBeenCalledTimes(5);
  });

  test('is read anew where the count began anew', async () => {
    const on = bench();
    const { id } = workspaceIn(on);
    on.cpu = 100;
    const first = on.stats.get(alice, id, never());
    await on.clock.whenSleeping();
    await on.clock.advance(500);
    await first;
    await on.clock.advance(2_000);
    on.cpu = 1;
    const second = on.stats.get(alice, id, never());
    await on.clock.whenSleeping();
    on.cpu = 1.5;
    await on.clock.advance(500);
    expect((await second).cpuPercent).toBe(100);
  });

  test.each([
    ['a frozen one uses none', true, 7, 0],
    ['of one that does not run it is not known', false, null, null],
  ])('%s, and is asked once', async (_, frozen, cpu, percent) => {
    const on = bench();
    const { id } = workspaceIn(on);
    on.provider.stats.mockResolvedValue(reading(on.clock.now(), cpu, frozen));
    expect((await on.stats.get(alice, id, never())).cpuPercent).toBe(percent);
    expect(on.provider.stats).toHaveBeenCalledOnce();
  });

  test('is read once for all who ask within a second', async () => {
    const on = bench();
    const { id } = workspaceIn(on);
    const gate = new Gate();
    on.provider.stats.mockImplementation(async () => {
      await gate.pass();
      return reading(on.clock.now(), null);
    });
    const asked = [on.stats.get(alice, id, never()), on.stats.get(admin, id, never())];
    const left = new AbortController();
    const leaving = on.stats.list(alice, left.signal);
    await gate.reached;
    left.abort(new Error('left'));
    await expect(leaving).rejects.toThrow('left');
    gate.open();
    await Promise.all(asked);
    await on.clock.advance(900);
    await on.stats.get(alice, id, never());
    expect(on.provider.stats).toHaveBeenCalledOnce();
    await on.clock.advance(1_200);
    await on.stats.get(alice, id, never());
    expect(on.provider.stats).toHaveBeenCalledTimes(2);
  });

  test('is not for others, and not of what is neither ready nor stopped', async () => {
    const on = bench();
    for (const status of workspaceStatuses) {
      const { id } = workspaceIn(on, status);
      const code = ['ready', 'stopped'].includes(status) ? undefined : 'wrong_state';
      on.provider.stats.mockResolvedValue(reading(on.clock.now(), null));
      const asked = on.stats.get(alice, id, never());
      if (code === undefined) expect((await asked).workspace.status).toBe(status);
      else await expect(asked).rejects.toMatchObject({ code });
      await expect(on.stats.get(bob, id, never())).rejects.toMatchObject({
        code: 'workspace_not_found',
      });
    }
    expect((await on.stats.list(bob, never())).items).toEqual([]);
    const seen = (await on.stats.list(alice, never())).items;
    expect(seen.map(({ workspace }) => workspace.status).toSorted()).toEqual(['ready', 'stopped']);
  });

  test('of one that is destroyed meanwhile is that of none', async () => {
    const on = bench();
    const { id } = workspaceIn(on);
    on.provider.stats.mockImplementation(async () => {
      on.store.rows.delete(id);
      throw new EmergentError('sandbox_unreachable', 'gone');
    });
    await expect(on.stats.get(alice, id, never())).rejects.toMatchObject({
      code: 'workspace_not_found',
    });
  });

  test('that cannot be told has its reason, and the others are told', async () => {
    const on = bench();
    const broken = workspaceIn(on);
    const whole = workspaceIn(on, 'ready', { createdAt: new Date('2029-01-01T00:00:00Z') });
    on.provider.stats.mockImplementation(async ({ workspaceId }) => {
      if (workspaceId === broken.id) throw new EmergentError('provider_unavailable', 'no engine');
      return reading(on.clock.now(), null);
    });
    const { items } = await on.stats.list(alice, never());
    const of = (id: string) => items.find(({ workspace }) => workspace.id === id);
    expect(of(broken.id)).toMatchObject({ stats: null, cpuPercent: null, reason: 'no engine' });
    expect(of(whole.id)).toMatchObject({ stats: { processes: 3 } });
    await on.clock.advance(2_000);
    await expect(on.stats.get(alice, broken.id, never())).rejects.toThrow('no engine');
  });

  test('is asked of a few at a time', async () => {
    const on = bench();
    const gate = new Gate();
    let most = 0;
    let now = 0;
    on.provider.stats.mockImplementation(async () => {
      most = Math.max(most, ++now);
      await gate.pass();
      now--;
      return reading(on.clock.now(), null);
    });
    for (let count = 0; count < 30; count++) workspaceIn(on);
    const asked = on.stats.list(alice, never());
    await gate.reached;
    gate.open();
    expect((await asked).items).toHaveLength(30);
    expect(most).toBe(8);
  });

  test('is told of the newest thousand', async () => {
    const on = bench();
    on.provider.stats.mockResolvedValue(reading(on.clock.now(), null));
    for (let count = 0; count < 1_003; count++) workspaceIn(on, 'stopped');
    const rows = [...on.store.rows.values()];
    vi.spyOn(on.store, 'list').mockImplementation(async ({ cursor = '0', limit }) => {
      const end = Number(cursor) + limit;
      const nextCursor = end < rows.length ? String(end) : null;
      return { items: rows.slice(Number(cursor), end), nextCursor };
    });
    const { items, leftOut } = await on.stats.list(admin, never());
    expect({ told: items.length, leftOut }).toEqual({ told: 1_000, leftOut: 3 });
  });

  test('is not known to every provider', async () => {
    const provider = new FakeProvider();
    const setup = setUp(provider);
    const { store, clock } = setup;
    const stats = new Stats({ store, clock, providers: providersOf([provider], clock) });
    const { id } = workspaceIn(setup);
    await expect(stats.get(alice, id, never())).rejects.toMatchObject({ code: 'unsupported' });
  });
});
