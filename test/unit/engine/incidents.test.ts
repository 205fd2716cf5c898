import { describe, expect, test, vi } from 'vitest';
import type { SandboxIncident } from '../../../src/domain/provider.ts';
import { Incidents } from '../../../src/engine/incidents.ts';
import { FakeClock } from '../../support/clock.ts';
import { MemoryEventStore } from './support/memory-events.ts';

function setUp() {
  const clock = new FakeClock();
  const events = new MemoryEventStore(() => undefined);
  const log = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn(), child: vi.fn() };
  const incidents = new Incidents(events, clock, log);
  const recorded = () => events.events.map(({ detail }) => detail['incident']);
  return { clock, events, log, incidents, recorded };
}

function incident(name: string | undefined, workspaceId = 'w1'): SandboxIncident {
  const named = name === undefined ? {} : { incident: name };
  return {
    ...{ workspaceId, kind: 'memory_exceeded', at: new Date('2030-01-01T00:00:00Z') },
    detail: { ...named, process: 'python3', rss_bytes: 600 },
  };
}

describe('Incidents', () => {
  test('records each, with a warning that names workspace, process and size', async () => {
    const { clock, events, log, incidents } = setUp();
    incidents.note(incident('b/1'));
    await clock.advance(0);
    expect(events.events).toMatchObject([
      { workspaceId: 'w1', actor: 'sandbox', type: 'workspace.memory_exceeded' },
    ]);
    expect(log.warn).toHaveBeenCalledExactlyOnceWith(
      'a process was ended because its workspace exceeded its memory',
      expect.objectContaining({ workspace: 'w1', process: 'python3', rss_bytes: 600 }),
    );
  });

  test('drops what is recorded already, also by another server', async () => {
    const { clock, events, incidents, recorded } = setUp();
    await events.recordIncident(incident('b/1'));
    for (const name of ['b/1', 'b/2', 'b/2']) incidents.note(incident(name));
    incidents.note(incident('b/1', 'w2'));
    await clock.advance(0);
    expect(recorded()).toEqual(['b/1', 'b/2', 'b/1']);
  });

  test('those without a name are all recorded', async () => {
    const { clock, events, incidents } = setUp();
    incidents.note(incident(undefined));
    incidents.note(incident(undefined));
    await clock.advance(0);
    expect(events.events).toHaveLength(2);
  });

  test('a database that is away is asked again, in order, and said once', async () => {
    const { clock, events, log, incidents, recorded } = setUp();
    const record = vi.spyOn(events, 'recordIncident').mockRejectedValue(new Error('away'));
    incidents.note(incident('b/1'));
    incidents.note(incident('b/2'));
    await clock.advance(60_000);
    expect(recorded()).toEqual([]);
    expect(log.warn).toHaveBeenCalledTimes(1);
    record.mockRestore();
    await clock.advance(2_000);
    expect(recorded()).toEqual(['b/1', 'b/2']);
  });

  test('in the end it is given up, with an error that tells all of it', async () => {
    const { clock, events, log, incidents } = setUp();
    vi.spyOn(events, 'list').mockRejectedValue(new Error('away'));
    incidents.note(incident('b/1'));
    await clock.advance(700_000);
    expect(log.error).toHaveBeenCalledExactlyOnceWith(
      'an incident is not recorded',
      expect.objectContaining({ workspace: 'w1', incident: 'b/1' }),
    );
    expect(clock.sleeping).toBe(0);
  });

  test('a workspace without end of incidents is cut off for an hour, others are not', async () => {
    const { clock, events, log, incidents } = setUp();
    const noteMany = async (count: number) => {
      for (let n = 0; n < count; n++) {
        incidents.note(incident(undefined));
        if (n % 100 === 99) await clock.advance(0);
      }
      await clock.advance(0);
    };
    await noteMany(250);
    expect(events.events).toHaveLength(200);
    expect(log.warn.mock.calls.at(-1)?.[0]).toMatch(/too many incidents/);
    incidents.note(incident(undefined, 'w2'));
    await clock.advance(3_600_000);
    await noteMany(1);
    expect(events.events).toHaveLength(202);
  });

  test('stopped, it waits no more', async () => {
    const { clock, events, incidents } = setUp();
    vi.spyOn(events, 'recordIncident').mockRejectedValue(new Error('away'));
    incidents.note(incident('b/1'));
    await clock.whenSleeping();
    incidents[Symbol.dispose]();
    await clock.advance(0);
    expect(clock.sleeping).toBe(0);
  });
});
