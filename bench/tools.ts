// The tools over a tree of 10,000 files, side by side with the docker command in the same container.
// Run: npm run bench:tools [-- rounds]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { report, sideBySide } from './support/measure.ts';
import { benchWorkspace } from './support/workspace.ts';

const rounds = Number(process.argv[2] ?? 20);
const directories = 100;
const filesEach = 100;
const found = 'needle';
const content = 'all work and no play makes a dull file\n'.repeat(20);

await using workspace = await benchWorkspace();
const call = async (tool: string, body: object): Promise<Record<string, unknown>> => {
  const answer = await workspace.request('POST', `/${workspace.id}/${tool}`, body);
  return (await answer.json()) as Record<string, unknown>;
};
/** What it prints is thrown away unread. */
const dockerExec = async (argv: readonly string[], input?: string): Promise<void> => {
  const interactive = input === undefined ? [] : ['-i'];
  const child = spawn('docker', ['exec', ...interactive, workspace.container, ...argv], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  child.stdin.end(input);
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`docker exec ${argv.join(' ')}: exit code ${String(code)}`);
};

const made = await call('bash', { command: 'python3 -c "$TREE"', env: { TREE: tree() } });
if (made['exit_code'] !== 0) throw new Error(JSON.stringify(made));

let turn = 0;
/** Another file each time, so that none is read twice in a row. */
const next = (): string => {
  turn += 1;
  return `/workspace/tree/${String(turn % directories)}/${String((turn * 7) % filesEach)}.txt`;
};

report(
  'read a file of the tree',
  await sideBySide(rounds, [
    ['API read', () => call('read', { file_path: next() })],
    ['docker exec cat', () => dockerExec(['cat', next()])],
  ]),
  'docker exec ≥ 1.0x',
);
report(
  'write a file of the tree',
  await sideBySide(rounds, [
    ['API write', () => call('write', { file_path: next(), content })],
    ['docker exec tee', () => dockerExec(['tee', next()], content)],
  ]),
  'docker exec ≥ 1.0x',
);
report(
  `grep ${String(directories * filesEach)} files`,
  await sideBySide(Math.ceil(rounds / 4), [
    ['API grep', () => call('grep', { pattern: found, path: '/workspace/tree' })],
    ['docker exec grep -rn', () => dockerExec(['grep', '-rn', found, '/workspace/tree'])],
  ]),
  'docker exec ≥ 1.0x',
);

/** A Python program; every directory has one file with something to find. */
function tree(): string {
  return `
import os
for d in range(${String(directories)}):
    os.makedirs(f"/workspace/tree/{d}")
    for f in range(${String(filesEach)}):
        text = "line of a file that is about as long as a line of code\\n" * 40
        if f == 50: text += "a ${found} in the hay\\n"
        open(f"/workspace/tree/{d}/{f}.txt", "w").write(text)`;
}
