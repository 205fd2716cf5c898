import type { Clock } from './clock.ts';
import { reasonOf } from './reason.ts';

/** One part of a long sequence. `run` may return its undo. */
export interface Step {
  readonly name: string;
  run(): Promise<Undo | undefined>;
}
export type Undo = () => Promise<void>;

/**
 * Runs the steps in order and returns how long each took, in milliseconds. When one fails, the undos of those
 * before it run in reverse; an undo that fails joins the error, and the others still run.
 */
export async function runSteps(
  steps: readonly Step[],
  clock: Clock,
): Promise<Record<string, number>> {
  const undos: Undo[] = [];
  const timings: Record<string, number> = {};
  for (const step of steps) {
    const startedAt = clock.monotonic();
    try {
      const undo = await step.run();
      if (undo) undos.unshift(undo);
    } catch (error) {
      throw await unwind(undos, error);
    }
    timings[step.name] = Math.round(clock.monotonic() - startedAt);
  }
  return timings;
}

async function unwind(undos: readonly Undo[], error: unknown): Promise<unknown> {
  const failures: unknown[] = [];
  for (const undo of undos) {
    try {
      await undo();
    } catch (failure) {
      failures.push(failure);
    }
  }
  if (failures.length === 0) return error;
  const undone = failures.map(reasonOf).join('; ');
  return new AggregateError([error, ...failures], `${reasonOf(error)}; undoing failed: ${undone}`);
}
