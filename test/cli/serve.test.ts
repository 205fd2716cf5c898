import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { StopRequests } from '../../src/cli/terminal/stop-requests.ts';
import { FakeClock } from '../support/clock.ts';
import { freePort } from '../support/free-port.ts';
import { prepareDataDir } from '../support/prepared-data-dir.ts';
import { Cli, cli } from './support/cli.ts';

/** Server processes start and stop in it, which takes its time on a machine that is busy otherwise. */
const patience = { timeout: 180_000 };

describe('serve', patience, () => {
  let dataDir: string;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'emergent-cli-serve-'));
    await prepareDataDir(dataDir);
  });

  afterAll(async () => {
    await rm(dataDir, { recursive: true, force: true });
  });

  const settings = (): Record<string, string> => ({
    EMERGENT_DATA_DIR: dataDir,
    EMERGENT_PORT: '0',
    EMERGENT_DEMO: '1',
    EMERGENT_LOG_LEVEL: 'error',
    WORKSPACE_WARM_POOL_SIZE: '0',
  });

  test('prints address, token and a command that works; a signal closes it', async () => {
    const port = String(await freePort());
    const server = new Cli(['serve'], { env: { ...settings(), EMERGENT_PORT: port } });
    await server.shows('stdout', 'Ctrl-C stops it.\n');
    const url = /^ {2}URL {7}(\S+)$/m.exec(server.stdout)?.[1] ?? '';
    const token = /^ {2}Token {5}(\S+) {2}\(new; kept in the data directory\)$/m.exec(
      server.stdout,
    )?.[1];
    expect(token).toBe((await readFile(join(dataDir, 'admin-token'), 'utf8')).trim());
    const suggested = / {2}Try {7}(.*)\n/.exec(server.stdout)?.[1] ?? '';
    expect(suggested).toBe(
      `EMERGENT_URL=${url} EMERGENT_DATA_DIR=${dataDir} ./emergent run -- uname -r`,
    );
    const env = { EMERGENT_URL: url, EMERGENT_DATA_DIR: dataDir };
    const tried = await cli(['run', '--', 'uname', '-r'], { env });
    expect(tried).toMatchObject({ code: 0, stderr: '' });
    expect(tried.stdout).toMatch(/^\d\S*\n$/);

    const second = await cli(['serve'], {
      env: { ...settings(), EMERGENT_PORT: port },
    });
    expect(second.code).toBe(1);
    expect(second.stderr).toMatch(/^emergent: the server cannot start: /m);

    server.kill('SIGTERM');
    const { code, stderr } = await server.ended;
    expect(stderr).toMatch(/^SIGTERM: closing; once more to exit at once\nclosed\n$/m);
    expect(code).toBe(0);
    expect((await cli(['list'], { env })).stderr).toContain('Is the server running?');
  });

  test('the token is kept, and --json prints it for scripts', async () => {
    const server = new Cli(['serve', '--json'], { env: settings() });
    await server.shows('stdout', '\n}\n');
    const kept = (await readFile(join(dataDir, 'admin-token'), 'utf8')).trim();
    expect(JSON.parse(server.stdout)).toMatchObject({ admin_token: kept });
    server.kill('SIGINT');
    expect(await server.ended).toMatchObject({ code: 0 });
  });

  test('every wrong setting is named at once', async () => {
    const env = { ...settings(), EMERGENT_PORT: 'x', WORKSPACE_DEFAULT_CPU: '-1' };
    const { code, stderr } = await cli(['serve'], { env });
    expect(stderr).toMatch(
      /^emergent: wrong settings: EMERGENT_PORT: .*; WORKSPACE_DEFAULT_CPU: .*\n$/,
    );
    expect(code).toBe(2);
  });

  test('a signal that npm passes on once more is the same; a later one exits at once', async () => {
    const clock = new FakeClock();
    const requests = new StopRequests(clock);
    expect([requests.receive(), requests.receive()]).toEqual(['close', 'same']);
    await clock.advance(2_000);
    expect(requests.receive()).toBe('exit');
  });

  test('help describes every setting', async () => {
    const { stdout } = await cli(['serve', '--help']);
    expect(stdout).toMatch(/^ {2}EMERGENT_PORT +port to listen on; 0 picks a free one \(7700\)$/m);
    expect(stdout).toMatch(/^ {2}WORKSPACE_DEFAULT_MEMORY +memory \(4G\)$/m);
  });
});
