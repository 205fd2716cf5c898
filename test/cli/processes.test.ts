import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestServer } from './support/server.ts';

const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';

let server: TestServer;
let id: string;
beforeAll(async () => {
  server = await TestServer.start();
  id = await server.create();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

async function detach(script: string): Promise<string> {
  const { code, stdout } = await server.run(['exec', '-d', id, '--', 'bash', '-c', script]);
  expect(code).toBe(0);
  return stdout.trim();
}

test('exec -d prints the id of the process alone, and how to come back', async () => {
  const started = await server.run(['exec', '--detach', id.slice(0, 8), '--', 'sleep', '1000']);
  expect(started.stdout).toMatch(new RegExp(`^${uuid}\n$`));
  const process = started.stdout.trim();
  expect(started.stderr).toBe(`started: to see its output: emergent attach ${id} ${process}\n`);
  const json = await server.run(['exec', '-d', '--json', id, '--', 'true']);
  const other = JSON.parse(json.stdout) as { id: string };
  expect(other).toMatchObject({ detached: true, command: "'true'" });
  await server.run(['kill', id, process]);
  // Neither is there any more for the tests to come.
  await Promise.all([process, other.id].map((one) => server.run(['attach', id, one])));
});

test('a detached command has no timeout', async () => {
  const { code, stderr } = await server.run(['exec', '-d', '--timeout', '5s', id, '--', 'true']);
  expect(stderr).toMatch(/^emergent: a detached command has no timeout\. /);
  expect(code).toBe(2);
});

test('ps lists what runs, --all also what has ended', async () => {
  const sleeping = await detach('exec sleep 1000 # for ps');
  const exited = await detach('exit 3 # for ps');
  await server.run(['attach', id, exited]);
  const running = (await server.run(['ps', id.slice(0, 8)])).stdout.split('\n');
  expect(running[0]).toMatch(/^PROCESS {3}PID +STATUS +AGE +COMMAND$/);
  const line = new RegExp(`^${sleeping.slice(0, 8)}  \\d+ +running +\\d+s +'bash' -c .*for ps`);
  expect(running).toContainEqual(expect.stringMatching(line));
  expect(running.join('\n')).not.toContain(exited.slice(0, 8));
  const all = (await server.run(['ps', '--all', id])).stdout;
  expect(all).toMatch(new RegExp(`^${exited.slice(0, 8)}  \\d+ +exited 3 +\\d+s`, 'm'));
  const quiet = (await server.run(['ps', '--quiet', id])).stdout.split('\n');
  expect(quiet).toContain(sleeping);
  const json = await server.run(['ps', '--json', id]);
  expect(JSON.parse(json.stdout)).toMatchObject({ items: [{ status: 'running' }] });
  await server.run(['kill', id, sleeping, '-s', 'KILL']);
  expect((await server.run(['attach', id, sleeping])).code).toBe(137);
  expect((await server.run(['ps', '-a', id])).stdout).toContain('killed SIGKILL');
});

test('attach replays both outputs apart and ends with the exit code', async () => {
  const process = await detach('printf "a\\xffb"; echo err >&2; exit 7');
  const { code, bytes, stderr } = await server.run(['attach', id.slice(0, 8), process.slice(0, 8)]);
  expect(bytes).toEqual(Buffer.from('a\xffb', 'latin1'));
  expect({ code, stderr }).toEqual({ code: 7, stderr: 'err\n' });
  const again = await server.run(['attach', id, process, '--json']);
  expect(again.code).toBe(7);
  expect(JSON.parse(again.stdout)).toMatchObject({
    workspace_id: id,
    process_id: process,
    stderr: 'err\n',
    exit_code: 7,
    signal: null,
  });
});

test('attach begins where it is told', async () => {
  const process = await detach('printf 0123456789');
  await server.run(['attach', id, process]);
  expect((await server.run(['attach', id, process, '--offset', '4'])).stdout).toBe('456789');
  expect((await server.run(['attach', id, process, '--tail', '3'])).stdout).toBe('789');
  expect((await server.run(['attach', id, process, '--tail', '99'])).stdout).toBe('0123456789');
  for (const wrong of [
    ['--offset', 'x'],
    ['--offset', '1', '--tail', '1'],
  ]) {
    expect((await server.run(['attach', id, process, ...wrong])).code).toBe(2);
  }
  const far = await server.run(['attach', id, process, '--offset', '11']);
  expect(far.stderr).toMatch(/^emergent: offset: 11 is beyond/);
  expect(far.code).toBe(125);
});

test('attach follows; Ctrl-C leaves the process running, and the next one reads on', async () => {
  const process = await detach('echo first; until [ -e go ]; do sleep 0.02; done; echo second');
  const running = server.start(['attach', id, process]);
  await running.shows('stdout', 'first\n');
  running.kill('SIGINT');
  const { code, stdout, stderr } = await running.ended;
  expect({ code, stdout }).toEqual({ code: 130, stdout: 'first\n' });
  const goOn = /To go on: emergent (attach .* --offset 6)\n$/.exec(stderr)?.[1];
  await server.run(['exec', id, '--', 'touch', 'go']);
  const rest = await server.run((goOn ?? '').split(' '));
  expect(rest).toMatchObject({ code: 0, stdout: 'second\n' });
});

test('kill takes names and numbers; what is not there is told', async () => {
  const process = await detach('trap "exit 5" USR1; echo set; sleep 1000 & wait');
  const attached = server.start(['attach', id, process]);
  await attached.shows('stdout', 'set\n');
  const sent = await server.run(['kill', id, process.slice(0, 6), '-s', '10']);
  expect(sent).toMatchObject({ code: 0, stdout: `${process}\n` });
  expect(await attached.ended).toMatchObject({ code: 5 });
  const gone = await server.run(['kill', id, process, '--json']);
  expect(gone.code).toBe(1);
  expect(JSON.parse(gone.stderr)).toMatchObject({ error: { code: 'process_not_found' } });
  // A random id has a 4 in this place.
  const nobody = 'ffffffff-ffff-f';
  const unknown = await server.run(['kill', id, nobody]);
  expect(unknown.stderr).toBe(
    `emergent: no process's id begins with ${nobody}. See \`emergent ps --all ${id}\`.\n`,
  );
  const wrong = await server.run(['kill', id, process, '-s', 'STOP']);
  expect(wrong.code).toBe(2);
  expect(wrong.stderr).toContain('Allowed are HUP, INT, QUIT, KILL, USR1, USR2, TERM');
  expect((await server.run(['kill', id, 'xyz'])).stderr).toContain('is not the id of a process');
});
