import type { RestartPolicy } from '../../../../src/domain/mcp-config.ts';
import { untriedMcpState, type McpExit, type McpHistory } from '../../../../src/domain/mcp.ts';
import { afterExit, type AfterExit } from '../../../../src/domain/mcp-restart.ts';

export const second = 1_000;
export const minute = 60 * second;
export const start = new Date('2026-01-02T03:04:05.678Z');

/** How long a program runs after a start, and how it ends. */
export interface Life {
  readonly ranMs: number;
  readonly exitCode: number;
  readonly signal: string | null;
}

export function exitAt(at: Date, { exitCode, signal }: Pick<Life, 'exitCode' | 'signal'>): McpExit {
  return { exitCode, signal, at };
}

export function endingAtOnce(
  times: number,
  exit: Pick<Life, 'exitCode' | 'signal'> = { exitCode: 1, signal: null },
  ranMs = 0,
): readonly Life[] {
  return Array.from({ length: times }, () => ({ ...exit, ranMs }));
}

export interface Step {
  readonly startedAt: Date;
  readonly endedAt: Date;
  readonly before: McpHistory;
  readonly history: McpHistory;
  readonly next: AfterExit;
}

export interface Told {
  /** Up to the last life, or the first that was left. */
  readonly steps: readonly Step[];
  readonly delays: readonly number[];
  /** Which of the delays came with one. */
  readonly warnings: readonly number[];
  readonly history: McpHistory;
  /** When the last of them ended. */
  readonly end: Date;
}

/** One life after the other, each begun when the policy says so. */
export function live(lives: readonly Life[], policy: RestartPolicy): Told {
  const steps: Step[] = [];
  let history: McpHistory = untriedMcpState;
  let startedAt = start;
  let endedAt = start;
  for (const life of lives) {
    endedAt = new Date(startedAt.getTime() + life.ranMs);
    const before = history;
    const after = afterExit(before, exitAt(endedAt, life), policy, startedAt);
    history = after.history;
    steps.push({ startedAt, endedAt, before, history, next: after.next });
    if (after.next.kind === 'leave') break;
    startedAt = new Date(endedAt.getTime() + after.next.delayMs);
  }
  const restarts = steps.map(({ next }) => next).filter((next) => next.kind === 'restart');
  return {
    ...{ steps, history, end: endedAt },
    delays: restarts.map(({ delayMs }) => delayMs),
    warnings: restarts.flatMap(({ warning }, index) => (warning ? [index] : [])),
  };
}
