import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { freePort } from '../support/free-port.ts';
import { cli } from './support/cli.ts';
import { ScriptedServer } from './support/scripted-server.ts';

describe('usage', () => {
  test('help lists the commands and the exit codes', async () => {
    const { code, stdout, stderr } = await cli(['--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const name of ['serve', 'doctor', 'run', 'create', 'list', 'exec', 'cp', 'destroy']) {
      expect(stdout).toMatch(new RegExp(`^ {2}${name} `, 'm'));
    }
    expect(stdout).toContain('Exit codes:');
  });

  const commands = [
    ...'serve doctor run create list get exec shell ps attach kill cp'.split(' '),
    ...'stop resume recover destroy events gc providers pool token version'.split(' '),
  ];
  test.for([
    ...commands,
    'providers explain',
    'pool resize',
    'token create',
    'token list',
    'token revoke',
  ])('help of %s has an example', async (name) => {
    const { code, stdout } = await cli([...name.split(' '), '--help']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Examples?:\n {2}(?:\S.*)?emergent |^Examples?:\n {2}npm start/m);
  });

  test('help <command> is the help of the command', async () => {
    const [word, option] = await Promise.all([cli(['help', 'exec']), cli(['exec', '--help'])]);
    expect(word.stdout).toBe(option.stdout);
    expect(word.stdout).toMatch(/^Usage: emergent exec \[options\] <id> -- <command\.\.\.>\n/);
  });

  test('version', async () => {
    expect((await cli(['version'])).stdout).toBe(`emergent ${packageJson.version}\n`);
    expect((await cli(['--version'])).stdout).toBe(`${packageJson.version}\n`);
    const json = await cli(['version', '--json']);
    expect(JSON.parse(json.stdout)).toEqual({ version: packageJson.version });
  });

  test.for([
    [['lst'], /^emergent: unknown command 'lst' \(Did you mean list\?\)\. See: emergent --help\n$/],
    [
      ['list', '--jsno'],
      /^emergent: unknown option '--jsno' \(Did you mean --json\?\)\. See: emergent list --help\n$/,
    ],
    [['get'], /^emergent: missing required argument 'id'/],
    [['exec', '1f0c'], /^emergent: missing required argument 'command'/],
    [
      ['exec', '1f0c', 'ls', '-l'],
      /^emergent: unknown option '-l'\..*options of the command itself go after --\n$/,
    ],
    [['create', '--ttl', 'soon'], /^emergent: .*'--ttl <duration>'.*Write a duration such as 90s/],
    [['create', '--env', 'NOT_SET_HERE'], /^emergent: .*NOT_SET_HERE is not set here/],
    [['create', '--metadata', '=x'], /^emergent: .*Write it as key=value/],
    [['token', 'create', 'x', '--role', 'root'], /^emergent: .*Allowed choices are agent, admin/],
    [['list', '--url', 'ftp://x'], /^emergent: --url: "ftp:\/\/x" is not a URL\. /],
  ] as const)('%s is refused with the exit code 2', async ([args, message]) => {
    const { code, stdout, stderr } = await cli(args);
    expect(stderr).toMatch(message);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });

  test('an id that cannot be one is refused before anything is sent', async () => {
    await using server = await ScriptedServer.start((_, response) => response.end());
    for (const id of ['abc', 'workspace', '../etc']) {
      const { code, stderr } = await cli(['get', id], { env: server.env });
      expect(stderr).toContain(`"${id}" is not the id of a workspace. `);
      expect(code).toBe(2);
    }
    expect(server.requests).toEqual([]);
  });

  test('nothing at all prints the help, as an error', async () => {
    const { code, stdout, stderr } = await cli([]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^Usage: emergent /);
  });

  test('a mistake is reported as JSON where JSON was asked for', async () => {
    const { code, stdout, stderr } = await cli(['list', '--json', '--bogus']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'usage' } });
  });
});

describe('finding the server', () => {
  let home: string;

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'emergent-cli-home-'));
  });

  afterAll(async () => {
    await rm(home, { recursive: true, force: true });
  });

  test('an unreachable server: one line with the remedy', async () => {
    const url = `http://127.0.0.1:${String(await freePort())}`;
    const env = { EMERGENT_URL: url, EMERGENT_TOKEN: 'token' };
    const reason = `cannot reach the server at ${url} (connection refused)`;
    const { code, stderr } = await cli(['list'], { env });
    expect(stderr).toBe(`emergent: ${reason}. Is the server running? Start it with: npm start\n`);
    expect(code).toBe(1);
    expect(await cli(['exec', '1f0c', '--', 'true'], { env })).toMatchObject({ code: 125 });
    expect(await cli(['run', '--', 'true'], { env })).toMatchObject({ code: 125 });
    const json = await cli(['list', '--json'], { env });
    expect(JSON.parse(json.stderr)).toMatchObject({
      error: { code: 'unreachable', message: reason },
    });
  });

  test('no token: one line with the remedy', async () => {
    const { code, stderr } = await cli(['list'], { env: { HOME: home } });
    expect(stderr).toBe(
      `emergent: no token: EMERGENT_TOKEN is not set and ${home}/.emergent/admin-token does not exist. ` +
        'Is the server running? Start it with: npm start. Otherwise set EMERGENT_TOKEN.\n',
    );
    expect(code).toBe(1);
  });

  test("this machine's admin token is never sent to another machine", async () => {
    await writeFile(join(home, 'admin-token'), 'secret-of-this-machine\n');
    const env = { EMERGENT_DATA_DIR: home, EMERGENT_URL: 'http://emergent.invalid:7700' };
    const { code, stderr } = await cli(['list'], { env });
    expect(stderr).toMatch(
      /^emergent: no token for http:\/\/emergent\.invalid:7700\. Set EMERGENT_TOKEN /,
    );
    expect(code).toBe(1);
  });

  test('something that is not our server', async () => {
    await using server = await ScriptedServer.start((_, response) => response.end('<html>'));
    const { code, stderr } = await cli(['list'], { env: server.env });
    expect(stderr).toMatch(
      /^emergent: .* answered with something else than JSON\. Is this an Emergent server\?/,
    );
    expect(code).toBe(1);
  });

  test('text from a server cannot command the terminal', async () => {
    const error = { code: 'internal', message: '\u001b[2Jgone\u0007', hint: 'a\nb' };
    await using server = await ScriptedServer.start((_, response) => {
      response.writeHead(500).end(JSON.stringify({ error }));
    });
    const { stderr } = await cli(['list'], { env: server.env });
    expect(stderr).toBe('emergent: \ufffd[2Jgone\ufffd. a b\n');
  });
});
