import { describe, expect, test } from 'vitest';
import { restartPolicies } from '../../../src/domain/mcp-config.ts';
import { untriedMcpState, type McpHistory, type McpState } from '../../../src/domain/mcp.ts';
import {
  afterExit,
  afterManualRestart,
  isCrash,
  isCrashLooping,
  standingDecision,
} from '../../../src/domain/mcp-restart.ts';
import { endingAtOnce, exitAt, live, minute, second, start } from './support/mcp-lives.ts';

const crash = { exitCode: 1, signal: null };
const killed = { exitCode: 137, signal: 'SIGKILL' };
const done = { exitCode: 0, signal: null };
const at = (ms: number): Date => new Date(start.getTime() + ms);

describe('what ends', () => {
  test.each([
    ['always', crash, 'restart'],
    ['always', killed, 'restart'],
    ['always', done, 'restart'],
    ['on-failure', crash, 'restart'],
    ['on-failure', killed, 'restart'],
    ['on-failure', done, 'leave'],
    ['never', crash, 'leave'],
    ['never', killed, 'leave'],
    ['never', done, 'leave'],
  ] as const)('under %s with %o: %s', (policy, exit, kind) => {
    const { history, next } = afterExit(untriedMcpState, exitAt(start, exit), policy, start);
    expect(next.kind).toBe(kind);
    expect(history.lastExit).toEqual(exitAt(start, exit));
    expect(history.restarts).toBe(kind === 'restart' ? 1 : 0);
    if (next.kind === 'leave') expect(next.why).toContain(policy);
  });

  test.each([
    [crash, true],
    [killed, true],
    [{ exitCode: 0, signal: 'SIGTERM' }, true],
    [done, false],
  ])('%o is a crash: %s', (exit, expected) => {
    expect(isCrash(exitAt(start, exit))).toBe(expected);
  });
});

describe('the pace of restarts', () => {
  test.each(['always', 'on-failure'] as const)(
    'three at once, then 5, 15 and 45 s, 2 and 5 min, under %s',
    (policy) => {
      const { delays, warnings } = live(endingAtOnce(10), policy);
      expect(delays).toEqual([
        ...[0, 500, 1_000],
        ...[5, 15, 45, 120, 300, 300, 300].map((seconds) => seconds * second),
      ]);
      expect(warnings).toEqual([3]);
    },
  );

  test('one that ends with 0 in a loop, and is always restarted, is put off like one that crashes', () => {
    const { delays } = live(endingAtOnce(6, done), 'always');
    expect(delays).toEqual([0, 500, 1_000, 5_000, 15_000, 45_000]);
  });

  test('three crashes in a minute, again and again, are not put off', () => {
    const { delays } = live(endingAtOnce(20, crash, 21 * second), 'on-failure');
    expect(Math.max(...delays)).toBe(1_000);
  });

  test('four crashes are put off if they are within a minute, to the millisecond', () => {
    const after = (ms: number): McpHistory => {
      const crashes = [at(0), at(10), at(20)];
      const history = { ...untriedMcpState, crashes };
      return afterExit(history, exitAt(at(ms), crash), 'always', at(30)).history;
    };
    expect(after(minute).backOffs).toBe(1);
    expect(after(minute + 1).backOffs).toBe(0);
  });

  test('one that is being put off goes on being so, however rarely it crashes', () => {
    const lives = [...endingAtOnce(4), ...endingAtOnce(3, crash, 9 * minute)];
    expect(live(lives, 'always').delays.slice(3)).toEqual([5_000, 15_000, 45_000, 120_000]);
  });

  test('ten stable minutes and its crashes are forgotten, but not how often it was restarted', () => {
    const lives = [...endingAtOnce(5), ...endingAtOnce(1, crash, 10 * minute), ...endingAtOnce(5)];
    const { delays, warnings, history } = live(lives, 'always');
    expect(delays.slice(5)).toEqual([0, 500, 1_000, 5_000, 15_000, 45_000]);
    expect(warnings).toEqual([3, 8]);
    expect(history.restarts).toBe(11);
  });

  test('a clock that was set back does not hold it up', () => {
    const history = { ...untriedMcpState, crashes: [at(1_000), at(2_000), at(3_000)] };
    const { next } = afterExit(history, exitAt(at(0), crash), 'always', at(0));
    expect(next).toEqual({ kind: 'restart', delayMs: 0, warning: false });
  });

  test('somebody who restarts it begins anew', () => {
    const { history } = live(endingAtOnce(7), 'always');
    const anew = afterManualRestart(history);
    expect(anew).toEqual({ ...untriedMcpState, run: undefined, lastExit: history.lastExit });
    const { next } = afterExit(anew, exitAt(at(minute), crash), 'always', at(minute));
    expect(next).toEqual({ kind: 'restart', delayMs: 0, warning: false });
  });
});

describe('crash-looping', () => {
  const runSince = (startedAt: Date): McpState['run'] => ({
    ...{ processId: 'p', introduction: null, startedAt },
  });
  const { history, end } = live(endingAtOnce(4), 'always');

  test('one that is restarted at once is not', () => {
    const prompt = { ...live(endingAtOnce(3), 'always').history, run: null };
    expect(isCrashLooping(prompt, end)).toBe(false);
    expect(isCrashLooping(untriedMcpState, start)).toBe(false);
  });

  test('one that waits for a restart that was put off is, however long it has to', () => {
    const late = new Date(end.getTime() + 60 * minute);
    expect(isCrashLooping({ ...history, run: null }, late)).toBe(true);
    // What ran before it ended counts for nothing.
    expect(isCrashLooping({ ...history, run: runSince(start) }, late)).toBe(true);
  });

  test('one that runs again is, until it has run stable', () => {
    const state = { ...history, run: runSince(end) };
    expect(isCrashLooping(state, new Date(end.getTime() + 10 * minute - 1))).toBe(true);
    expect(isCrashLooping(state, new Date(end.getTime() + 10 * minute))).toBe(false);
  });

  test('one that has ended, and is left so, no longer is', () => {
    const left = afterExit(history, exitAt(end, done), 'on-failure', end).history;
    expect(isCrashLooping({ ...left, run: null }, end)).toBe(false);
  });

  test('one that somebody has restarted no longer is', () => {
    expect(isCrashLooping({ ...afterManualRestart(history), run: null }, end)).toBe(false);
  });
});

describe('what was decided', () => {
  test.each(restartPolicies)('nothing, of what has never ended: %s', (policy) => {
    expect(standingDecision(untriedMcpState, policy)).toBeUndefined();
  });

  test('stands for a server that comes back', () => {
    const { history } = live(endingAtOnce(6), 'always');
    expect(standingDecision(history, 'always')).toMatchObject({ delayMs: 45_000 });
    expect(standingDecision(history, 'never')).toMatchObject({ kind: 'leave' });
  });
});
