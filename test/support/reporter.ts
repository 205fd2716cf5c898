import type { Reporter, TestCase, TestModule, TestSuite } from 'vitest/node';
import { deferred, scenarios } from '../requirements.ts';

interface SharedRun {
  passed: number;
  failed: number;
  skipped: number;
}

/**
 * Closes a run with what was not shown: every skip by its reason, the providers the conformance suite ran on,
 * the deferred scenarios, and last one line of totals. Prints nothing else, so it combines with any reporter.
 */
export default class ClosingReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): void {
    console.log(`\n${closingLines(modules, unhandled.length).join('\n')}`);
  }
}

function closingLines(modules: readonly TestModule[], unhandled: number): string[] {
  const tests = modules.flatMap((module) => [...module.children.allTests()]);
  const suites = modules.flatMap((module) => [...module.children.allSuites()]);
  // A file that does not load and a hook that throws have no failed test of their own.
  const broken = [...modules, ...suites].filter((part) => part.errors().length > 0);
  const failed = count(tests, 'failed') + broken.length + unhandled;
  return [
    ...skipLines(tests),
    ...conformanceLines(tests),
    `scenarios: ${String(scenarios.length - deferred.length)} of ${String(scenarios.length)} in scope, ` +
      `${String(deferred.length)} deferred`,
    `${String(count(tests, 'passed'))} passed, ${String(failed)} failed, ` +
      `${String(count(tests, 'skipped'))} skipped`,
  ];
}

function count(tests: readonly TestCase[], state: 'passed' | 'failed' | 'skipped'): number {
  return tests.filter((test) => test.result().state === state).length;
}

/** "firecracker: 31 skipped, no usable KVM", one line per group and reason. */
function skipLines(tests: readonly TestCase[]): string[] {
  const counts = new Map<string, Map<string, number>>();
  for (const test of tests) {
    const reason = skipReason(test);
    if (reason === undefined) continue;
    const group = test.meta().runsOn ?? test.module.relativeModuleId;
    const reasons = counts.get(group) ?? new Map<string, number>();
    counts.set(group, reasons.set(reason, (reasons.get(reason) ?? 0) + 1));
  }
  return [...counts].flatMap(([group, reasons]) =>
    [...reasons].map(([reason, skipped]) => `${group}: ${String(skipped)} skipped, ${reason}`),
  );
}

function skipReason(test: TestCase): string | undefined {
  const result = test.result();
  if (result.state !== 'skipped') return undefined;
  if (result.note !== undefined) return result.note;
  return hasBrokenParent(test) ? 'its set-up failed' : 'not selected';
}

function hasBrokenParent(test: TestCase): boolean {
  let part: TestSuite | TestModule = test.parent;
  while (part.type === 'suite' && part.errors().length === 0) part = part.parent;
  return part.errors().length > 0;
}

function conformanceLines(tests: readonly TestCase[]): string[] {
  const runs = new Map<string, SharedRun>();
  for (const test of tests) {
    const { suite, runsOn } = test.meta();
    const { state } = test.result();
    if (suite !== 'conformance' || runsOn === undefined || state === 'pending') continue;
    const run = runs.get(runsOn) ?? { passed: 0, failed: 0, skipped: 0 };
    run[state] += 1;
    runs.set(runsOn, run);
  }
  return [...runs].map(([provider, { passed, failed, skipped }]) =>
    passed + failed === 0
      ? `conformance did not run on ${provider}`
      : `conformance ran on ${provider}: ${String(passed)} passed, ${String(failed)} failed, ` +
        `${String(skipped)} skipped`,
  );
}
