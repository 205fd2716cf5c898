// Exec and file transfer through the HTTP API, side by side with the docker command on the same container.
// Run: npm run bench:exec [-- rounds]
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { report, sideBySide } from './support/measure.ts';
import { benchWorkspace } from './support/workspace.ts';

const run = promisify(execFile);
const rounds = Number(process.argv[2] ?? 30);
const fileBytes = 10_000_000;

await using workspace = await benchWorkspace();
const scratch = await mkdtemp(join(tmpdir(), 'emergent-bench-'));
await using cleanUp = new AsyncDisposableStack();
cleanUp.defer(() => rm(scratch, { recursive: true, force: true }));

const api = async (): Promise<void> => {
  const body = JSON.stringify({ command: 'true' });
  const result = (await (
    await workspace.request('POST', `/${workspace.id}/bash`, body)
  ).json()) as {
    exit_code: number;
  };
  if (result.exit_code !== 0) throw new Error(`exit code ${String(result.exit_code)}`);
};
const docker = (...args: string[]): Promise<unknown> => run('docker', args);
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

const content = randomBytes(fileBytes);
const local = join(scratch, 'file');
await writeFile(local, content);
const filesPath = `/${workspace.id}/files?path=${encodeURIComponent('/workspace/api-file')}`;
report(
  'a 10 MB file in',
  await sideBySide(rounds, [
    ['API PUT', () => workspace.request('PUT', filesPath, content, 'application/octet-stream')],
    ['docker cp', () => docker('cp', local, `${workspace.container}:/workspace/docker-file`)],
  ]),
  'docker cp ≥ 1.0x',
);
report(
  'a 10 MB file out',
  await sideBySide(rounds, [
    ['API GET', async () => (await workspace.request('GET', filesPath)).arrayBuffer()],
    [
      'docker cp',
      () => docker('cp', `${workspace.container}:/workspace/docker-file`, `${scratch}/out`),
    ],
  ]),
  'docker cp ≥ 1.0x',
);
