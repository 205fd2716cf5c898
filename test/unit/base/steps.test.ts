import { describe, expect, test } from 'vitest';
import { runSteps } from '../../../src/base/steps.ts';
import type { Step } from '../../../src/base/steps.ts';
import { FakeClock } from '../../support/clock.ts';

/** Steps that write down when they run and when they are undone. */
function recorder(): { done: string[]; step: (name: string, options?: StepOptions) => Step } {
  const done: string[] = [];
  return {
    done,
    step: (name, { fails, undoFails, noUndo } = {}) => ({
      name,
      run: async () => {
        done.push(name);
        if (fails) throw fails;
        if (noUndo) return undefined;
        return async () => {
          done.push(`undo ${name}`);
          if (undoFails) throw undoFails;
        };
      },
    }),
  };
}

interface StepOptions {
  fails?: Error;
  undoFails?: Error;
  noUndo?: boolean;
}

describe('runSteps', () => {
  test('runs in order, undoes nothing, and tells how long each step took', async () => {
    const clock = new FakeClock();
    const { done, step } = recorder();
    const slow: Step = {
      name: 'slow',
      run: async () => {
        await clock.sleep(1234.4);
        return undefined;
      },
    };
    const timings = runSteps([step('a'), slow, step('b')], clock);
    await clock.whenSleeping();
    await clock.advance(1234.4);
    expect(await timings).toEqual({ a: 0, slow: 1234, b: 0 });
    expect(done).toEqual(['a', 'b']);
  });

  test('a failure undoes the steps before it in reverse and is passed on as it is', async () => {
    const { done, step } = recorder();
    const why = new Error('no space');
    const steps = [step('a'), step('b', { noUndo: true }), step('c'), step('d', { fails: why })];
    await expect(runSteps([...steps, step('e')], new FakeClock())).rejects.toBe(why);
    expect(done).toEqual(['a', 'b', 'c', 'd', 'undo c', 'undo a']);
  });

  test('an undo that fails joins the error by its reason, and the others still run', async () => {
    const { done, step } = recorder();
    const why = new Error('no agent');
    const stuck = new Error('volume in use');
    const steps = [step('a'), step('b', { undoFails: stuck }), step('c', { fails: why })];
    const failure: unknown = await runSteps(steps, new FakeClock()).catch(
      (error: unknown) => error,
    );
    expect(done).toEqual(['a', 'b', 'c', 'undo b', 'undo a']);
    expect(failure).toBeInstanceOf(AggregateError);
    expect((failure as AggregateError).errors).toEqual([why, stuck]);
    expect((failure as AggregateError).message).toMatch(/no agent.*volume in use/);
  });

  test('an undo that throws before it returns a promise does not stop the others', async () => {
    const { done, step } = recorder();
    const why = new Error('no agent');
    const rash: Step = {
      name: 'rash',
      run: async () => () => {
        throw new Error('rash');
      },
    };
    const steps = [step('a'), rash, step('c', { fails: why })];
    const failure = runSteps(steps, new FakeClock());
    await expect(failure).rejects.toThrow(AggregateError);
    expect(done).toEqual(['a', 'c', 'undo a']);
  });

  test('no steps take no time', async () => {
    expect(await runSteps([], new FakeClock())).toEqual({});
  });
});
