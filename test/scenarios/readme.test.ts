import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ScenarioServer } from './support.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

interface Step {
  readonly command: string;
  readonly output: readonly string[];
}

let server: ScenarioServer;
beforeAll(async () => {
  server = await ScenarioServer.start();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

test('the first steps of the README do what it shows', async () => {
  const readme = await readFile(`${root}/README.md`, 'utf8');
  const steps = consoleSteps(section(readme, 'First steps'));
  expect(steps.length).toBeGreaterThan(3);
  const script = steps.map(({ command }) => `${command}\necho '#end'`).join('\n');
  const { stdout } = await promisify(execFile)('bash', ['-euc', script], {
    cwd: root,
    env: { ...process.env, EMERGENT_URL: server.url, EMERGENT_TOKEN: server.token },
    timeout: 150_000,
  });
  const printed = stdout.split('#end\n').slice(0, -1);
  expect(steps.map(({ command }, index) => [command, lines(printed[index] ?? '')])).toEqual(
    steps.map(({ command, output }) => [command, output.filter((line) => !isNote(line))]),
  );
}, 180_000);

function section(markdown: string, title: string): string {
  return markdown.split(/^## /m).find((part) => part.startsWith(title)) ?? '';
}

/** "$ command" and the lines under it, from the first console block. */
function consoleSteps(markdown: string): readonly Step[] {
  const block = /```console\n([^]*?)```/.exec(markdown)?.[1] ?? '';
  return block
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [command = '', ...output] = lines(part);
      return { command, output };
    });
}

/** What goes to standard error, for the reader and not for the pipe. */
function isNote(line: string): boolean {
  return line.startsWith('created: ');
}

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}
