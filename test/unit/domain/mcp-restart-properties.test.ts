import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { restartPolicies, type RestartPolicy } from '../../../src/domain/mcp-config.ts';
import { afterExit, isCrash, standingDecision } from '../../../src/domain/mcp-restart.ts';
import { live, minute, second, type Life, type Told } from './support/mcp-lives.ts';

const stableMs = 10 * minute;
/** The first start, three at once, and those after 5 and 15 s; the one after 45 s is more than a minute later. */
const mostStartsInAMinute = 6;

describe('the restart policy, whatever a program does', () => {
  const anyRun = fc.oneof(
    fc.constant(0),
    fc.integer({ min: 0, max: 5 * second }),
    fc.integer({ min: 0, max: 2 * minute }),
    fc.integer({ min: stableMs - second, max: stableMs + second }),
  );
  const anyLife: fc.Arbitrary<Life> = fc.record({
    ranMs: anyRun,
    exitCode: fc.constantFrom(0, 1, 137),
    signal: fc.constantFrom(null, null, null, 'SIGKILL'),
  });
  const anyLives = fc.array(anyLife, { minLength: 1, maxLength: 40 });

  function always(
    holds: (told: Told, policy: RestartPolicy, lives: readonly Life[]) => void,
    policies: readonly RestartPolicy[] = restartPolicies,
  ): void {
    fc.assert(
      fc.property(anyLives, fc.constantFrom(...policies), (lives, policy) => {
        holds(live(lives, policy), policy, lives);
      }),
      { numRuns: 1_000 },
    );
  }

  test('no minute sees more than a few starts', () => {
    always(({ steps }) => {
      const starts = steps.map(({ startedAt }) => startedAt.getTime());
      for (const [index, first] of starts.entries()) {
        const within = starts.slice(index).filter((each) => each - first < minute);
        expect(within.length).toBeLessThanOrEqual(mostStartsInAMinute);
      }
    });
  });

  test('more than three ends within a minute are put off', () => {
    always(({ steps }) => {
      for (const [index, { endedAt, next }] of steps.entries()) {
        const fourth = steps[index - 3];
        const ran = steps.slice(Math.max(0, index - 2), index + 1);
        if (next.kind !== 'restart' || !fourth) continue;
        const close = endedAt.getTime() - fourth.endedAt.getTime() <= minute;
        const steady = ran.some((each) => +each.endedAt - +each.startedAt >= stableMs);
        if (close && !steady) expect(next.delayMs).toBeGreaterThanOrEqual(5 * second);
      }
    });
  });

  test('inside a loop no delay is shorter than the one before', () => {
    always(({ steps }) => {
      for (const { startedAt, endedAt, before, history, next } of steps) {
        const stable = endedAt.getTime() - startedAt.getTime() >= stableMs;
        if (before.backOffs === 0 || stable || next.kind !== 'restart') continue;
        expect(history.backOffs).toBe(before.backOffs + 1);
        const last = standingDecision(before, 'always');
        expect(last?.kind === 'restart' && last.delayMs <= next.delayMs).toBe(true);
        expect(next.warning).toBe(false);
      }
    });
  });

  test('a warning comes with the first restart that is put off, and with no other', () => {
    always(({ steps }) => {
      for (const { next } of steps) {
        if (next.kind !== 'restart') continue;
        expect(next.warning).toBe(next.delayMs === 5 * second);
      }
    });
  });

  test('after ten stable minutes the next crash is followed by a restart at once', () => {
    always(
      ({ steps }) => {
        for (const { startedAt, endedAt, next } of steps) {
          if (endedAt.getTime() - startedAt.getTime() < stableMs || next.kind === 'leave') continue;
          expect(next).toEqual({ kind: 'restart', delayMs: 0, warning: false });
        }
      },
      ['always', 'on-failure'],
    );
  });

  test('it is restarted exactly where its policy says so', () => {
    const restarts = { always: () => true, 'on-failure': isCrash, never: () => false };
    always(({ steps }, policy) => {
      for (const { history, next } of steps) {
        const exit = history.lastExit;
        expect(exit && restarts[policy](exit)).toBe(next.kind === 'restart');
      }
    });
  });

  test('every restart is counted, and what is remembered stays small', () => {
    always(({ delays, steps, history }) => {
      expect(history.restarts).toBe(delays.length);
      for (const each of steps) expect(each.history.crashes.length).toBeLessThanOrEqual(4);
    });
  });

  test('the same exit always gives the same answer, and the history alone gives it again', () => {
    always(({ steps }, policy) => {
      for (const { before, startedAt, history, next } of steps) {
        const exit = history.lastExit;
        if (!exit) throw new Error('an exit was not noted');
        expect(afterExit(before, exit, policy, startedAt)).toEqual({ history, next });
        expect(standingDecision(history, policy)).toEqual(next);
      }
    });
  });

  test('any history and any times have an answer', () => {
    const anyTime = fc.date({ noInvalidDate: false });
    const anyExit = fc.record({ exitCode: fc.integer(), signal: fc.constant(null), at: anyTime });
    const anyHistory = fc.record({
      ...{ restarts: fc.nat(), backOffs: fc.nat(), crashes: fc.array(anyTime) },
      lastExit: fc.option(anyExit),
    });
    fc.assert(
      fc.property(
        anyHistory,
        anyExit,
        fc.constantFrom(...restartPolicies),
        anyTime,
        (history, exit, policy, ranSince) => {
          const { next } = afterExit(history, exit, policy, ranSince);
          if (next.kind === 'leave') return;
          expect(next.delayMs).toBeGreaterThanOrEqual(0);
          expect(next.delayMs).toBeLessThanOrEqual(5 * minute);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
