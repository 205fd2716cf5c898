import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { allPids } from '../../src/host/processes.ts';
import { eventually } from '../support/eventually.ts';
import { prepareDataDir } from '../support/prepared-data-dir.ts';
import { AtTerminal } from '../terminal/support/at-terminal.ts';
import { Cli, cli } from './support/cli.ts';

let dataDir: string;
let file: string;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'emergent-cli-reload-'));
  await prepareDataDir(dataDir);
  file = join(dataDir, 'emergent.env');
});
beforeEach(async () => {
  await rm(file, { force: true });
});
afterEach(async () => {
  // What a failed test leaves.
  for (const pid of await servers()) process.kill(pid, 'SIGKILL');
});
afterAll(async () => {
  await rm(dataDir, { recursive: true, force: true });
});

const settings = (): Record<string, string> => ({
  EMERGENT_DATA_DIR: dataDir,
  EMERGENT_DEMO: '1',
  EMERGENT_LOG_LEVEL: 'error',
});

interface Pool {
  readonly name: string;
  readonly size: number;
}

async function pools(server: Cli): Promise<readonly (readonly [string, number])[]> {
  const { url } = JSON.parse(server.stdout) as { url: string };
  const env = { EMERGENT_URL: url, EMERGENT_DATA_DIR: dataDir };
  const { stdout, stderr } = await cli(['pool', '--json'], { env });
  if (stdout === '') throw new Error(stderr);
  const report = JSON.parse(stdout) as { pools: readonly Pool[] };
  return report.pools.map(({ name, size }) => [name, size] as const);
}

/** Server processes start and stop in it, which takes its time on a machine that is busy otherwise. */
const patience = { timeout: 180_000 };

describe('SIGHUP', patience, () => {
  test('reads the file again: pools change at once, the rest is named, and what is wrong changes nothing', async () => {
    await writeFile(file, 'EMERGENT_PORT=0\nWORKSPACE_WARM_POOL_SIZE=0\n');
    const server = new Cli(['serve', '--json'], { env: settings() });
    await server.shows('stdout', '\n}\n');
    expect(await pools(server)).toEqual([['default', 0]]);

    const extra = `WORKSPACE_WARM_POOLS='[\n  {"name": "small", "size": 0, "memory": "512M"}\n]'\n`;
    await writeFile(file, `EMERGENT_PORT=4711\nWORKSPACE_WARM_POOL_SIZE=1\n${extra}`);
    server.kill('SIGHUP');
    await server.shows('stderr', 'EMERGENT_PORT changed: needs a restart\n');
    expect(server.stderr).toContain(
      `configuration applied (${file}): WORKSPACE_WARM_POOL_SIZE, WORKSPACE_WARM_POOLS\n`,
    );
    const changed = [
      ['default', 1],
      ['small', 0],
    ];
    expect(await pools(server)).toEqual(changed);

    await writeFile(file, 'WORKSPACE_WARM_POOLSIZE=5\nEMERGENT_PORT=x\n');
    server.kill('SIGHUP');
    await server.shows('stderr', `EMERGENT_PORT in ${file}: "x" is not a port number\n`);
    expect(server.stderr).toContain(
      `configuration not applied: ${file}: line 1: unknown setting WORKSPACE_WARM_POOLSIZE;`,
    );
    expect(await pools(server)).toEqual(changed);

    server.kill('SIGTERM');
    expect(await server.ended).toMatchObject({ code: 0 });
  });

  test('the environment wins, and that is told', async () => {
    await writeFile(file, 'WORKSPACE_WARM_POOL_SIZE=3\n');
    const env = { ...settings(), EMERGENT_PORT: '0', WORKSPACE_WARM_POOL_SIZE: '0' };
    const server = new Cli(['serve', '--json'], { env });
    await server.shows('stdout', '\n}\n');
    const unused = `WORKSPACE_WARM_POOL_SIZE in ${file} is not used: the environment wins\n`;
    await server.shows('stderr', unused);
    expect(server.stderr).toBe(unused);
    server.kill('SIGHUP');
    await server.shows('stderr', `${unused}configuration read again (${file}): nothing to apply\n`);
    server.kill('SIGTERM');
    expect(await server.ended).toMatchObject({ code: 0 });
  });

  test('at a terminal it reads again too; when the terminal goes away, the server closes', async () => {
    const env = { ...settings(), EMERGENT_PORT: '0', WORKSPACE_WARM_POOL_SIZE: '0' };
    const terminal = new AtTerminal(['serve'], env);
    await terminal.shows('Ctrl-C stops it.');
    const [pid] = await servers();
    if (pid === undefined) throw new Error(`there is no server: ${terminal.shown}`);
    process.kill(pid, 'SIGHUP');
    await terminal.shows(`configuration read again (there is no ${file}): nothing to apply`);
    expect(await servers()).toEqual([pid]);
    terminal.kill();
    await eventually(async () => {
      expect(await servers()).toEqual([]);
    });
  });
});

test('a file that is named and not there keeps the server from starting', async () => {
  const env = { ...settings(), EMERGENT_CONFIG: join(dataDir, 'missing') };
  const { code, stderr } = await cli(['serve'], { env });
  expect(stderr).toContain('wrong settings: EMERGENT_CONFIG: there is no file ');
  expect(code).toBe(2);
});

/** The processes that serve this data directory. */
async function servers(): Promise<readonly number[]> {
  const found = await Promise.all(
    (await allPids()).map(async (pid) => {
      // A process can end while it is looked at.
      const read = (name: string): Promise<string> =>
        readFile(`/proc/${String(pid)}/${name}`, 'utf8').catch(() => '');
      const [environment, command] = await Promise.all([read('environ'), read('cmdline')]);
      const isOurs = environment.split('\0').includes(`EMERGENT_DATA_DIR=${dataDir}`);
      return isOurs && command.includes('/main.ts\0serve\0') ? [pid] : [];
    }),
  );
  return found.flat();
}
