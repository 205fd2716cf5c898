import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Session } from '../../../../src/api/mcp/session.ts';
import { Sessions } from '../../../../src/api/mcp/sessions.ts';
import { FakeClock } from '../../../support/clock.ts';

const bounds = { perServer: 2, total: 3, idleMs: 30 * 60_000 };
const minute = 60_000;

let clock: FakeClock;
let sessions: Sessions;
let ended: string[];
beforeEach(() => {
  clock = new FakeClock();
  ended = [];
  sessions = new Sessions(clock, bounds, (error) => {
    throw error;
  });
});
afterEach(() => {
  sessions[Symbol.dispose]();
});

function open(id: string, serverId = 'a', isIdle = true): Session {
  const session = {
    ...{ id, isIdle, facts: { serverId } },
    end: () => {
      ended.push(id);
      sessions.ended(session);
    },
  } as unknown as Session;
  sessions.admit(serverId);
  sessions.add(session);
  return session;
}

describe('sessions', () => {
  test('that nobody uses are put away after half an hour, and may come back', async () => {
    open('used');
    open('unused');
    await clock.whenSleeping();
    await clock.advance(20 * minute);
    sessions.find('used');
    await clock.advance(11 * minute);
    expect(ended).toEqual(['unused']);
    expect(sessions.find('unused')).toBeUndefined();
    expect(sessions.isOver('unused')).toBe(false);
  });

  test('in use are not put away', async () => {
    open('busy', 'a', false);
    await clock.whenSleeping();
    await clock.advance(120 * minute);
    expect(sessions.find('busy')).toBeDefined();
  });

  test('that were ended stay ended', () => {
    open('one').end();
    expect([sessions.count, sessions.isOver('one')]).toEqual([0, true]);
  });

  test('make room for others, of their server and of all, longest unused first', () => {
    open('a1');
    open('a2');
    sessions.find('a1');
    open('a3');
    expect(ended).toEqual(['a2']);
    open('b1', 'b');
    open('c1', 'c');
    expect(ended).toEqual(['a2', 'a1']);
    expect(sessions.count).toBe(3);
  });

  test('are refused where every one is in use', () => {
    open('a1', 'a', false);
    open('a2', 'a', false);
    expect(() => open('a3')).toThrow('too many clients');
    expect(() => open('b1', 'b')).not.toThrow();
  });
});
