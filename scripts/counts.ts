import { readFile } from 'node:fs/promises';
import { z } from 'zod';

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export function sum(parts: readonly Counts[]): Counts {
  return parts.reduce(
    (total, part) => ({
      passed: total.passed + part.passed,
      failed: total.failed + part.failed,
      skipped: total.skipped + part.skipped,
    }),
    { passed: 0, failed: 0, skipped: 0 },
  );
}

export function closingLine({ passed, failed, skipped }: Counts): string {
  return `${String(passed)} passed, ${String(failed)} failed, ${String(skipped)} skipped`;
}

const vitestSchema = z.object({
  numPassedTests: z.number(),
  numFailedTests: z.number(),
  numPendingTests: z.number(),
  numTodoTests: z.number(),
});

/** From vitest's JSON report. A run that failed without a failed test (a file that does not load) counts one. */
export async function vitestCounts(report: string, exitCode: number): Promise<Counts> {
  const text = await readFile(report, 'utf8').catch(() => undefined);
  if (text === undefined) return { passed: 0, failed: 1, skipped: 0 };
  const counts = vitestSchema.parse(JSON.parse(text));
  const failed = exitCode === 0 ? counts.numFailedTests : Math.max(1, counts.numFailedTests);
  const skipped = counts.numPendingTests + counts.numTodoTests;
  return { passed: counts.numPassedTests, failed, skipped };
}

const eventSchema = z.object({
  Action: z.string(),
  Package: z.string().optional(),
  ImportPath: z.string().optional(),
  Test: z.string().optional(),
  Output: z.string().optional(),
  FailedBuild: z.string().optional(),
});

/** Reads the events of `go test -json`, prints what a person needs, and counts. */
export class GoEvents {
  readonly #print: (text: string) => void;
  readonly #outputs = new Map<string, string[]>();
  readonly #failedPackages = new Set<string>();
  #partial = '';
  #passed = 0;
  #failed = 0;
  #skipped = 0;

  constructor(print: (text: string) => void) {
    this.#print = print;
  }

  readonly write = (text: string): void => {
    const lines = (this.#partial + text).split('\n');
    this.#partial = lines.pop() ?? '';
    for (const line of lines) this.#take(line);
  };

  counts(exitCode: number): Counts {
    const failed = exitCode !== 0 && this.#failed === 0 ? 1 : this.#failed;
    return { passed: this.#passed, failed, skipped: this.#skipped };
  }

  #take(line: string): void {
    if (!line.startsWith('{')) {
      this.#print(`${line}\n`);
      return;
    }
    const event = eventSchema.parse(JSON.parse(line));
    const key = `${event.Package ?? event.ImportPath ?? ''} ${event.Test ?? ''}`;
    if (event.Action === 'build-output') this.#print(event.Output ?? '');
    if (event.Action === 'output') this.#keep(key, event.Output ?? '');
    if (event.Test === undefined) this.#packageEnded(event, key);
    else this.#testEnded(event.Action, event.Package ?? '', key);
  }

  #keep(key: string, output: string): void {
    const kept = this.#outputs.get(key) ?? [];
    this.#outputs.set(key, kept);
    kept.push(output);
  }

  #testEnded(action: string, name: string, key: string): void {
    if (action === 'pass') this.#passed += 1;
    if (action === 'fail') this.#failed += 1;
    if (action === 'fail') this.#failedPackages.add(name);
    if (action === 'skip') this.#skipped += 1;
    if (action === 'fail' || action === 'skip') this.#print(this.#outputs.get(key)?.join('') ?? '');
    if (['pass', 'fail', 'skip'].includes(action)) this.#outputs.delete(key);
  }

  /** A package that fails without a failed test (it does not build, it races at exit) counts one. */
  #packageEnded(event: z.infer<typeof eventSchema>, key: string): void {
    if (!['pass', 'fail', 'skip'].includes(event.Action)) return;
    const name = event.Package ?? '';
    if (event.Action === 'fail' && !this.#failedPackages.has(name)) this.#failed += 1;
    const output = this.#outputs.get(key) ?? [];
    this.#print((event.Action === 'fail' ? output : output.slice(-1)).join(''));
    this.#outputs.delete(key);
  }
}
