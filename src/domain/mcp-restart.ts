import type { RestartPolicy } from './mcp-config.ts';
import type { McpExit, McpHistory, McpState } from './mcp.ts';

/** What becomes of a program that has ended by itself. */
export type AfterExit =
  | {
      readonly kind: 'restart';
      /** From its end on. */
      readonly delayMs: number;
      /** It has just been found to be crash-looping: to be told, once for each loop. */
      readonly warning: boolean;
    }
  /** `why` is for people. */
  | { readonly kind: 'leave'; readonly why: string };

/** By how many have ended within the window, the last one included. */
const promptDelaysMs = [0, 500, 1_000] as const;
const windowMs = 60_000;
/** Once more have: each restart is put off for longer than the one before, and the last of these stays. */
const backOffDelaysMs = [5_000, 15_000, 45_000, 120_000, 300_000] as const;
/** Who has run for so long has left its crashes behind. */
const stableMs = 600_000;

/**
 * The program was started at `ranSince` and has ended without being told to. An exit with 0 that leads to a restart sets
 * the pace as a crash does: what ends at once, with whatever code, must not be started again and again without a pause.
 */
export function afterExit(
  history: McpHistory,
  exit: McpExit,
  policy: RestartPolicy,
  ranSince: Date,
): { readonly history: McpHistory; readonly next: AfterExit } {
  const noted = note(history, exit, policy, ranSince);
  return { history: noted, next: decisionOn(noted, exit, policy) };
}

/**
 * What was decided when it last ended, from the history alone, for a server of ours that comes back while a program
 * waits for its restart; undefined: it has never ended.
 */
export function standingDecision(
  history: McpHistory,
  policy: RestartPolicy,
): AfterExit | undefined {
  return history.lastExit === null ? undefined : decisionOn(history, history.lastExit, policy);
}

/** Somebody has started it, or started it again. */
export function afterManualRestart({ lastExit }: McpHistory): McpHistory {
  return { restarts: 0, crashes: [], backOffs: 0, lastExit };
}

/** Its restarts are put off, and it has not run stable since. */
export function isCrashLooping({ backOffs, lastExit, run }: McpState, now: Date): boolean {
  if (backOffs === 0) return false;
  // The run of a program that waits for its restart is the one that has ended.
  const runs = run !== null && (lastExit === null || run.startedAt >= lastExit.at);
  return !runs || !isStable(run.startedAt, now);
}

/** It did not end as a program does that has done its work. */
export function isCrash({ exitCode, signal }: McpExit): boolean {
  return exitCode !== 0 || signal !== null;
}

function note(
  history: McpHistory,
  exit: McpExit,
  policy: RestartPolicy,
  ranSince: Date,
): McpHistory {
  // It is left as it is: there is no pace to keep, and whoever starts it begins anew.
  if (whyLeft(exit, policy) !== undefined) {
    return { restarts: history.restarts, crashes: [], backOffs: 0, lastExit: exit };
  }
  const stable = isStable(ranSince, exit.at);
  const crashes = [...(stable ? [] : lately(history.crashes, exit.at)), exit.at];
  const before = stable ? 0 : history.backOffs;
  const putOff = before > 0 || crashes.length > promptDelaysMs.length;
  return {
    restarts: history.restarts + 1,
    crashes,
    backOffs: putOff ? before + 1 : 0,
    lastExit: exit,
  };
}

function decisionOn(
  { crashes, backOffs }: McpHistory,
  exit: McpExit,
  policy: RestartPolicy,
): AfterExit {
  const why = whyLeft(exit, policy);
  if (why !== undefined) return { kind: 'leave', why };
  const delayMs =
    backOffs > 0 ? step(backOffDelaysMs, backOffs) : step(promptDelaysMs, crashes.length);
  return { kind: 'restart', delayMs, warning: backOffs === 1 };
}

function whyLeft(exit: McpExit, policy: RestartPolicy): string | undefined {
  switch (policy) {
    case 'always':
      return undefined;
    case 'never':
      return 'its restart policy is "never"';
    case 'on-failure':
      return isCrash(exit) ? undefined : 'it ended with exit code 0, and is restarted "on-failure"';
  }
}

/** No more of them than decide: with the one that follows, one more than are restarted promptly. */
function lately(crashes: readonly Date[], now: Date): readonly Date[] {
  return crashes
    .filter((at) => at <= now && now.getTime() - at.getTime() <= windowMs)
    .slice(-promptDelaysMs.length);
}

function isStable(since: Date, now: Date): boolean {
  return now.getTime() - since.getTime() >= stableMs;
}

/** The `number`th, from 1; the last one for all beyond it. */
function step(delaysMs: readonly number[], number: number): number {
  return delaysMs[Math.min(number, delaysMs.length) - 1] ?? 0;
}
