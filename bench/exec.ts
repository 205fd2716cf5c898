// Exec and file transfer through the HTTP API, side by side with the docker command on the same container.
// Run: npm run bench:exec [-- rounds]
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { report, sideBySide } from './support/measure.ts';
import { benchWorkspace } from './support/workspace.ts';

const rounds = Number(process.argv[2] ?? 30);
const fileBytes = 10_000_000;

await using workspace = await benchWorkspace();
const scratch = await mkdtemp(join(tmpdir(), 'emergent-bench-'));
await using cleanUp = new AsyncDisposableStack();
cleanUp.defer(() => rm(scratch, { recursive: true, force: true }));

const api = async (): Promise<void> => {
  const answer = await workspace.request('POST', `/${workspace.id}/bash`, { command: 'true' });
  const { exit_code: code } = (await answer.json()) as { exit_code: number };
  if (code !== 0) throw new Error(`exit code ${String(code)}`);
};
/** What it prints is thrown away unread. */
const run = async (program: string, args: readonly string[]): Promise<void> => {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`${program} ${args.join(' ')}: exit code ${String(code)}`);
};
const docker = (...args: string[]): Promise<void> => run('docker', args);
const dockerExec = (): Promise<unknown> => docker('exec', workspace.container, 'true');
const tenTimes = (one: () => Promise<unknown>) => (): Promise<unknown> =>
  Promise.all(Array.from({ length: 10 }, one));

report(
  'exec, one at a time',
  await sideBySide(rounds, [
    ['API bash "true"', api],
    ['docker exec true', dockerExec],
  ]),
  'docker exec ≥ 3.0x',
);
report(
  'exec, ten at once',
  await sideBySide(Math.ceil(rounds / 3), [
    ['API bash "true"', tenTimes(api)],
    ['docker exec true', tenTimes(dockerExec)],
  ]),
  'docker exec ≥ 4.0x',
);

const local = join(scratch, 'file');
await writeFile(local, randomBytes(fileBytes));
const filesUrl = `${workspace.url}/files?path=/workspace/api-file`;
// One command-line client against the other: both start a process, and neither writes to the local disk.
const curl = (...args: string[]): Promise<unknown> =>
  run('curl', ['-sSf', '-H', `authorization: Bearer ${workspace.token}`, ...args, filesUrl]);
report(
  'a 10 MB file in',
  await sideBySide(rounds, [
    ['API PUT, by curl', () => curl('-H', 'expect:', '-T', local)],
    ['docker cp', () => docker('cp', local, `${workspace.container}:/workspace/docker-file`)],
  ]),
  'docker cp ≥ 1.0x',
);
report(
  'a 10 MB file out',
  await sideBySide(rounds, [
    ['API GET, by curl', () => curl('-o', '/dev/null')],
    ['docker cp', () => docker('cp', `${workspace.container}:/workspace/docker-file`, '-')],
  ]),
  'docker cp ≥ 1.0x',
);
