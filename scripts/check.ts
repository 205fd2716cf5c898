import { interruption, packageScript, runChild } from './children.ts';

/** npm run check: format, lint, types and unit tests; what an edit should pass before anything slower. */
interface Task {
  readonly name: string;
  readonly argv: [string, ...string[]];
}

const tasks: readonly Task[] = [
  {
    name: 'lint',
    argv: packageScript('eslint/bin/eslint.js', '--cache', '--cache-location', '.cache/', '.'),
  },
  { name: 'types', argv: packageScript('typescript/bin/tsc', '-p', '.') },
  { name: 'unit tests', argv: packageScript('vitest/vitest.mjs', 'run', '--project', 'unit') },
  {
    name: 'format',
    argv: packageScript('prettier/bin/prettier.cjs', '--check', '--log-level', 'warn', '.'),
  },
];
const atOnce = 2;

const signal = interruption();
const waiting = [...tasks];
const failed: string[] = [];
await Promise.all(Array.from({ length: atOnce }, work));
process.stdout.write(
  failed.length === 0 ? 'check: all good\n' : `check: ${failed.join(', ')} failed\n`,
);
process.exitCode = failed.length === 0 ? 0 : 1;

async function work(): Promise<void> {
  for (let task = waiting.shift(); task && !signal.aborted; task = waiting.shift()) await run(task);
}

async function run(task: Task): Promise<void> {
  const startedAt = performance.now();
  let output = '';
  const exitCode = await runChild(task.argv, {
    onOutput: (text) => {
      output += text;
    },
    signal,
  });
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  if (exitCode !== 0) failed.push(task.name);
  const mark = exitCode === 0 ? '✓' : '✗';
  process.stdout.write(`${mark} ${task.name} (${seconds} s)\n${exitCode === 0 ? '' : output}`);
}
