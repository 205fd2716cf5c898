import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestServer } from './support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

const gone = '00000000-0000-4000-8000-000000000000';

async function statusOf(id: string): Promise<unknown> {
  const { stdout } = await server.run(['get', '--json', id]);
  return (JSON.parse(stdout) as { status: string }).status;
}

test('stop and resume take several, go on after a failure, and tell by the exit code', async () => {
  const [first, second] = [await server.create(), await server.create()];
  await server.run(['exec', first, '--', 'touch', 'kept']);
  const stopped = await server.run(['stop', first.slice(0, 8), gone, second]);
  expect(stopped.stdout).toBe(`${first}\n${second}\n`);
  expect(stopped.stderr).toMatch(new RegExp(`^emergent: there is no workspace ${gone}\\. .*\n$`));
  expect(stopped.code).toBe(1);
  expect(await statusOf(second)).toBe('stopped');
  const refused = await server.run(['exec', first, '--', 'true']);
  expect(refused.code).toBe(125);
  expect(refused.stderr).toMatch(/is stopped\. Resume it first/);
  const resumed = await server.run(['resume', '--json', first, second]);
  expect(resumed).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(resumed.stdout)).toMatchObject({
    items: [
      { id: first, status: 'ready' },
      { id: second, status: 'ready' },
    ],
  });
  expect((await server.run(['exec', first, '--', 'ls'])).stdout).toBe('kept\n');
  expect(await server.run(['stop', '-q', first])).toMatchObject({ code: 0, stdout: '' });
  const recovered = await server.run(['recover', first]);
  expect(recovered).toMatchObject({ code: 1, stdout: '' });
  expect(recovered.stderr).toContain('is stopped');
  await server.run(['destroy', '-q', first, second]);
});

test('create --no-wait prints the id at once; get tells how it went on', async () => {
  const { code, stdout, stderr } = await server.run(['create', '--no-wait', '--ttl', '2h']);
  expect(code).toBe(0);
  expect(stderr).toMatch(/^creating: memory, /);
  const id = stdout.trim();
  const json = await server.run(['create', '--no-wait', '--json']);
  expect(JSON.parse(json.stdout)).toMatchObject({ status: 'creating', ready_at: null });
  const ready = server.start(['events', '-f', id, '--type', 'workspace.ready']);
  await ready.shows('stdout', 'workspace.ready');
  ready.kill('SIGINT');
  const facts = (await server.run(['get', id])).stdout;
  expect(facts).toMatch(/^status +ready$/m);
  expect(facts).toMatch(/^ready +\d{4}-/m);
  expect(facts).toMatch(/^ttl +2h after the last use$/m);
  expect(facts).toMatch(/^expires +\S+ \(in 1h\)$/m);
});

test('the limit is told with what to do', async () => {
  const tried = await Promise.all(Array.from({ length: 11 }, () => server.run(['create'])));
  const made = tried.filter(({ code }) => code === 0).map(({ stdout }) => stdout.trim());
  expect(await server.workspaceIds()).toHaveLength(10);
  const refused = tried.find(({ code }) => code !== 0);
  expect(refused?.stderr).toBe(
    'emergent: the limit of 10 concurrent workspaces has been reached. ' +
      'Wait until one is stopped or destroyed, or destroy what is no longer used: `emergent list`.\n',
  );
  await server.run(['destroy', '-q', ...made]);
});

test('events shows what happened, newest last, also of what is gone', async () => {
  const id = await server.create();
  await server.run(['exec', id, '--', 'sh', '-c', 'exit 3']);
  await server.run(['destroy', id]);
  const { stdout } = await server.run(['events', id.slice(0, 8)]);
  const lines = stdout.trimEnd().split('\n');
  expect(lines.map((line) => line.split(/ +/)[2])).toEqual([
    'workspace.creating',
    'workspace.ready',
    'tool.bash',
    'workspace.destroying',
    'workspace.destroyed',
  ]);
  expect(lines[2]).toMatch(
    new RegExp(`^\\d{4}-\\S+Z  ${id.slice(0, 8)}  tool\\.bash +.*exit_code=3.* by=[0-9a-f]{8}$`),
  );
  const some = await server.run(['events', id, '-n', '2', '--type', 'workspace.ready,tool.bash']);
  expect(some.stdout.trimEnd().split('\n')).toHaveLength(2);
  const json = await server.run(['events', id, '--json', '--type', 'tool.bash']);
  expect(JSON.parse(json.stdout)).toMatchObject({ items: [{ type: 'tool.bash' }] });
  const wrong = await server.run(['events', '--type', 'weather']);
  expect(wrong.code).toBe(1);
  expect(wrong.stderr).toMatch(/^emergent: type/);
  expect((await server.run(['events', '-n', 'many'])).code).toBe(2);
});

test('events -f goes on until Ctrl-C, one JSON document a line if asked', async () => {
  const before = await server.create();
  const following = server.start(['events', '-f', '-n', '1', '--json']);
  await following.shows('stdout', before);
  const id = await server.create();
  await following.shows('stdout', '"workspace.ready","detail"');
  await server.run(['destroy', id]);
  await following.shows('stdout', 'workspace.destroyed');
  following.kill('SIGINT');
  const { code, stdout, stderr } = await following.ended;
  expect({ code, stderr }).toEqual({ code: 130, stderr: '' });
  const events = stdout.trimEnd().split('\n');
  const seen = events.map((line) => JSON.parse(line) as { id: number; workspace_id: string });
  expect(new Set(seen.map((event) => event.id)).size).toBe(seen.length);
  expect(seen.filter((event) => event.workspace_id === id)).toHaveLength(4);
});

test('gc tells what it did and why, or that there is nothing to do', async () => {
  expect(await server.run(['gc'])).toMatchObject({ code: 0, stdout: 'nothing to do\n' });
  const json = await server.run(['gc', '--dry-run', '--min-age', '0s', '--json']);
  expect(JSON.parse(json.stdout)).toEqual({
    dry_run: true,
    actions: [],
    leftovers: [],
    blocked: [],
  });
});

test('gc is for admins', async () => {
  const token = (await server.run(['token', 'create', 'agent'])).stdout.trim();
  const { code, stderr } = await server.run(['gc'], { env: { EMERGENT_TOKEN: token } });
  expect(code).toBe(1);
  expect(stderr).toMatch(/^emergent: .*admin/i);
});

test('events -f goes on behind the last event when the server is back', async () => {
  const past = await server.create();
  const following = server.start(['events', '-f', '-n', '1', '--type', 'workspace.ready']);
  await following.shows('stdout', past.slice(0, 8));
  const before = await server.create();
  await following.shows('stdout', before.slice(0, 8));
  await server.restart();
  await following.shows('stderr', 'connected again');
  const after = await server.create();
  await following.shows('stdout', after.slice(0, 8));
  following.kill('SIGINT');
  const { stdout, stderr } = await following.ended;
  const seen = stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split('  ')[1]);
  expect(seen.filter((id) => id === before.slice(0, 8))).toHaveLength(1);
  expect(stderr).toMatch(/^emergent: .* connecting again\nemergent: connected again\n$/);
});

test('what is lost is told with the reason, and cannot be recovered', async () => {
  const id = await server.create();
  // The workspaces of a demo do not survive their server.
  await server.restart();
  const lost = server.start(['events', '-f', id, '--type', 'workspace.error']);
  await lost.shows('stdout', 'by=reconciler');
  lost.kill('SIGINT');
  const facts = (await server.run(['get', id])).stdout;
  expect(facts).toMatch(/^status +error\nreason +nothing is left of its sandbox/m);
  const { code, stderr } = await server.run(['recover', id]);
  expect(stderr).toMatch(/destroy it and create another\.\n$/);
  expect(code).toBe(1);
  expect((await server.run(['destroy', id])).code).toBe(0);
});
