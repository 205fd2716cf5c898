import type { Clock } from '../../base/clock.ts';
import { reasonOf } from '../../base/reason.ts';
import { NeedsRootError } from '../root.ts';
import { ProgressLine } from './progress.ts';
import type { SetupOutput } from './progress.ts';
import { SetupError } from './step.ts';
import type { SetupStep, StepResult } from './step.ts';

export interface RunStepsOptions {
  readonly output: SetupOutput;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Nothing is changed: what is missing is reported as failed. */
  readonly lookOnly?: boolean;
}

/**
 * Brings the host up to the list, in order. A step that fails does not stop those that do not need it; every
 * failure is printed with its remedy. An abort stops at once and rejects.
 */
export async function runSetupSteps(
  steps: readonly SetupStep[],
  options: RunStepsOptions,
): Promise<readonly StepResult[]> {
  const results: StepResult[] = [];
  for (const step of steps) {
    options.signal.throwIfAborted();
    const lacking = step.after.find((name) =>
      results.some((r) => r.name === name && r.state === 'failed'),
    );
    results.push(
      lacking === undefined
        ? await runStep(step, options)
        : failure(step, 0, new SetupError(`needs ${lacking}`, `mend ${lacking} first`)),
    );
    const last = results.at(-1);
    if (last?.state === 'failed' && options.lookOnly !== true) report(last, options.output);
  }
  summarise(results, options);
  return results;
}

async function runStep(step: SetupStep, options: RunStepsOptions): Promise<StepResult> {
  const { output, clock, signal } = options;
  const startedAt = clock.monotonic();
  const elapsed = (): number => Math.round(clock.monotonic() - startedAt);
  try {
    const missing = await step.needed(signal);
    if (missing === false) return { name: step.name, state: 'there', ms: elapsed() };
    if (options.lookOnly) throw new SetupError(missing, step.remedy);
    output.print(`• ${step.name}: ${missing}`);
    output.print(`  ${step.why}`);
    await using progress = new ProgressLine(output, clock);
    await step.run(progress.note, signal);
  } catch (error) {
    signal.throwIfAborted();
    return failure(step, elapsed(), error);
  }
  output.print(`✓ ${step.name}: done in ${seconds(elapsed())}`);
  return { name: step.name, state: 'done', ms: elapsed() };
}

function failure(step: SetupStep, ms: number, error: unknown): StepResult {
  return {
    name: step.name,
    state: 'failed',
    ms,
    reason: reasonOf(error),
    remedy: remedyOf(step, error),
  };
}

function remedyOf(step: SetupStep, error: unknown): string {
  if (error instanceof SetupError) return error.remedy;
  if (error instanceof NeedsRootError)
    return `run as root: ${error.command}\n    or: ${step.remedy}`;
  return step.remedy;
}

function report(result: StepResult & { state: 'failed' }, output: SetupOutput): void {
  output.print(`✗ ${result.name}: ${result.reason}`);
  output.print(`  → ${result.remedy}`);
}

function summarise(results: readonly StepResult[], { output, lookOnly }: RunStepsOptions): void {
  const there = results.filter(({ state }) => state === 'there').map(({ name }) => name);
  if (there.length > 0 && lookOnly !== true) output.print(`✓ already there: ${there.join(', ')}`);
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
