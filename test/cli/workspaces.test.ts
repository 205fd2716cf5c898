import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TestServer } from './support/server.ts';

const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';

describe('workspaces', () => {
  let server: TestServer;

  beforeAll(async () => {
    server = await TestServer.start();
  });

  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  test('create prints the id alone on standard output', async () => {
    const { code, stdout, stderr } = await server.run([
      'create',
      '--cpu',
      '0.5',
      '--memory',
      '512M',
    ]);
    expect(stdout).toMatch(new RegExp(`^${uuid}\n$`));
    expect(stderr).toBe('created: memory, demo, 0.5 CPU, 512M memory, 10G disk, nat\n');
    expect(code).toBe(0);
  });

  test('create passes every option on', async () => {
    const given = ['--provider', 'memory', '--image', 'alpine:3', '--cpu', '1.5', '--memory', '1G'];
    const more = ['--disk', '2G', '--network', 'isolated', '--ttl', '2h', '--session', 'run-7'];
    const repeated = [
      '--metadata',
      'task=a=b',
      '--metadata',
      'by=me',
      '--env',
      'A=1',
      '--env',
      'TAKEN',
    ];
    const env = { TAKEN: 'from here' };
    const created = await server.run(['create', '--json', ...given, ...more, ...repeated], { env });
    const workspace = JSON.parse(created.stdout) as Record<string, unknown>;
    expect(workspace).toMatchObject({
      status: 'ready',
      provider: 'memory',
      image: 'alpine:3',
      resource_limits: { cpu: 1.5, memory: '1G', disk: '2G' },
      network: 'isolated',
      agent_session_id: 'run-7',
      metadata: { task: 'a=b', by: 'me' },
    });
    const life =
      Date.parse(String(workspace['expires_at'])) - Date.parse(String(workspace['created_at']));
    expect(life).toBe(2 * 60 * 60 * 1000);
    const { stdout } = await server.run([
      'exec',
      String(workspace['id']),
      '--',
      'printenv',
      'A',
      'TAKEN',
    ]);
    expect(stdout).toBe('1\nfrom here\n');
  });

  test('list prints an aligned table, ids alone, or JSON', async () => {
    const id = await server.create();
    const table = (await server.run(['list'])).stdout.split('\n');
    const header = `${'ID'.padEnd(38)}STATUS  PROVIDER  IMAGE     CPU  MEMORY  AGE  EXPIRES`;
    expect(table[0]).toBe(header);
    expect(table[1]).toMatch(
      new RegExp(`^${id}  ready   memory    demo      2    4G      \\d+s +in 29d$`),
    );
    expect(table.at(-1)).toBe('');
    expect((await server.run(['list', '--quiet'])).stdout.split('\n')[0]).toBe(id);
    const json = JSON.parse((await server.run(['list', '--json'])).stdout) as { items: object[] };
    expect(json).toMatchObject({ next_cursor: null });
    expect(json.items[0]).toMatchObject({ id });
    const none = await server.run(['list', '--status', 'error', '--json']);
    expect(JSON.parse(none.stdout)).toEqual({ items: [], next_cursor: null });
  });

  test('get takes the beginning of an id', async () => {
    const id = await server.create('--metadata', 'task=x');
    const short = await server.run(['get', id.slice(0, 8)]);
    const lines = short.stdout.split('\n');
    expect(lines[0]).toMatch(new RegExp(`^id +${id}$`));
    expect(lines[1]).toMatch(/^status +ready$/);
    expect(lines).toContainEqual(expect.stringMatching(/^metadata\.task +x$/));
    const json = await server.run(['--json', 'get', id.toUpperCase()]);
    expect(JSON.parse(json.stdout)).toMatchObject({ id, status: 'ready', metadata: { task: 'x' } });
  });

  test('destroy takes several, goes on after a failure, and tells by its exit code', async () => {
    const [first, second] = [await server.create(), await server.create()];
    const gone = '00000000-0000-4000-8000-000000000000';
    const { code, stdout, stderr } = await server.run([
      'destroy',
      first,
      gone,
      second.slice(0, 13),
    ]);
    expect(stdout).toBe(`${first}\n${second}\n`);
    expect(stderr).toMatch(new RegExp(`^emergent: there is no workspace ${gone}\\. .*\n$`));
    expect(code).toBe(1);
    expect(await server.workspaceIds()).not.toContain(first);
    const quiet = await server.run(['destroy', '-q', await server.create()]);
    expect(quiet).toMatchObject({ code: 0, stdout: '', stderr: '' });
    const third = await server.create();
    expect(await server.run(['destroy', third, 'oops'])).toMatchObject({ code: 2, stdout: '' });
    const json = await server.run(['destroy', '--json', third]);
    expect(JSON.parse(json.stdout)).toEqual({ destroyed: [third] });
  });

  test('an error in JSON goes to standard error, with the exit code 1', async () => {
    const id = '00000000-0000-4000-8000-000000000000';
    const { code, stdout, stderr } = await server.run(['get', id, '--json']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(JSON.parse(stderr)).toMatchObject({
      error: {
        code: 'workspace_not_found',
        message: `there is no workspace ${id}`,
        hint: expect.any(String) as string,
        request_id: expect.any(String) as string,
      },
    });
  });

  test('a value that the server refuses is explained in one line', async () => {
    const { code, stderr } = await server.run(['create', '--memory', 'much']);
    expect(stderr).toMatch(/^emergent: resource_limits\.memory: "much" is not a size\. .*\n$/);
    expect(code).toBe(1);
  });

  test('token: create prints the secret alone, list shows it by name, revoke ends it', async () => {
    const created = await server.run(['token', 'create', 'ci']);
    const secret = created.stdout.trim();
    expect(created.stdout).toMatch(/^\S{20,}\n$/);
    expect(created.stderr).toMatch(new RegExp(`^created: ci, role agent, id ${uuid}\n$`));
    const env = { EMERGENT_TOKEN: secret };
    expect(await server.run(['list', '--quiet'], { env })).toMatchObject({ code: 0, stdout: '' });
    expect(await server.run(['token', 'list'], { env })).toMatchObject({ code: 1, stdout: '' });
    const id = created.stderr.trim().split(' ').at(-1) ?? '';
    const listed = await server.run(['token', 'list']);
    expect(listed.stdout).toMatch(new RegExp(`^${id}  ci +agent +active +\\S+$`, 'm'));
    expect(listed.stdout).not.toContain(secret);
    expect(await server.run(['token', 'revoke', id])).toMatchObject({ code: 0, stdout: `${id}\n` });
    const refused = await server.run(['list'], { env });
    expect(refused.stderr).toBe(
      'emergent: the server refused the token from EMERGENT_TOKEN. Set EMERGENT_TOKEN to a token of this server.\n',
    );
    const admin = await server.run(['token', 'create', 'boss', '--role', 'admin', '--json']);
    expect(JSON.parse(admin.stdout)).toMatchObject({ name: 'boss', role: 'admin' });
  });

  test('on the machine of the server its admin token is found by itself', async () => {
    const env = { EMERGENT_TOKEN: '', EMERGENT_DATA_DIR: server.dataDir };
    expect(await server.run(['list', '--quiet', '--url', server.url], { env })).toMatchObject({
      code: 0,
    });
  });
});
