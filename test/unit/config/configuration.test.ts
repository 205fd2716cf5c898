import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  changesBetween,
  ConfigError,
  loadConfig,
  readConfiguration,
  withLiveSettings,
} from '../../../src/config.ts';
import type { Configuration } from '../../../src/config.ts';

let directory: string;
let file: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'emergent-config-'));
  file = join(directory, 'emergent.env');
});
afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

type Values = Readonly<Record<string, string>>;

/** What a server with this data directory reads. */
function read(env: Values = {}, fallback: Values = {}): Promise<Configuration> {
  return readConfiguration({ EMERGENT_DATA_DIR: directory, ...env }, fallback);
}

async function readWith(lines: string, env: Values = {}): Promise<Configuration> {
  await writeFile(file, lines);
  return read(env);
}

async function problemsOf(reading: Promise<unknown>): Promise<readonly string[]> {
  const error: unknown = await reading.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof ConfigError) return error.problems;
  throw new Error(`it was not refused: ${String(error)}`);
}

describe('the configuration file', () => {
  test('is not needed', async () => {
    const { config, file: place } = await read();
    expect(config).toEqual(loadConfig({ EMERGENT_DATA_DIR: directory }));
    expect(place).toEqual({ path: file, found: false, overridden: [] });
  });

  test('has settings, comments, quotation marks and values of several lines', async () => {
    const { config } = await readWith(
      [
        '\ufeff# a comment',
        'EMERGENT_PORT=8080   # another\r',
        '',
        '  export WORKSPACE_DEFAULT_CPU = "0.5"',
        "WORKSPACE_WARM_POOLS='[",
        '  {"name": "python", "size": 3}',
        "]'",
        'WORKSPACE_WARM_POOL_SIZE=5',
      ].join('\n'),
    );
    expect(config).toMatchObject({
      port: 8080,
      warmPoolSize: 5,
      warmPools: [{ name: 'python', size: 3 }],
      defaultLimits: { cpu: 0.5 },
    });
  });

  test('gives way to the environment, and wins over the fallback', async () => {
    const lines = 'EMERGENT_PORT=1\nEMERGENT_HOST=::1\nEMERGENT_LOG_LEVEL=debug\nDOCKER_HOST=\n';
    await writeFile(file, lines);
    const env = { EMERGENT_PORT: '2', EMERGENT_HOST: '' };
    const fallback = { EMERGENT_LOG_LEVEL: 'warn', WORKSPACE_DEFAULT_CPU: '1' };
    const { config, file: place } = await read(env, fallback);
    expect(config).toMatchObject({ port: 2, host: '::1', logLevel: 'debug' });
    expect(config.defaultLimits.cpu).toBe(1);
    expect(place).toEqual({ path: file, found: true, overridden: ['EMERGENT_PORT'] });
  });

  test('can be named, and must be there then', async () => {
    const named = join(directory, 'other.conf');
    await writeFile(named, `EMERGENT_DATA_DIR=${directory}\nWORKSPACE_WARM_POOL_SIZE=9\n`);
    await writeFile(file, 'WORKSPACE_WARM_POOL_SIZE=1\n');
    const { config } = await readConfiguration({ EMERGENT_CONFIG: named });
    expect(config).toMatchObject({ dataDir: directory, warmPoolSize: 9 });
    const missing = join(directory, 'missing');
    expect(await problemsOf(read({ EMERGENT_CONFIG: missing }))).toEqual([
      `EMERGENT_CONFIG: there is no file ${missing}`,
    ]);
  });

  test('that cannot be read is refused', async () => {
    await mkdir(file);
    expect(await problemsOf(read())).toEqual([`${file}: is not a file`]);
    const bytes = join(directory, 'bytes');
    await writeFile(bytes, Buffer.from([0x41, 0x3d, 0xff]));
    expect(await problemsOf(read({ EMERGENT_CONFIG: bytes }))).toEqual([
      `${bytes}: is not UTF-8 text`,
    ]);
    const large = join(directory, 'large');
    await writeFile(large, `#${'x'.repeat(2 ** 20)}`);
    expect(await problemsOf(read({ EMERGENT_CONFIG: large }))).toEqual([
      `${large}: is larger than 1 MiB`,
    ]);
  });

  test.each([
    ['line 1: unknown setting WORKSPACE_WARM_POOLSIZE; did you mean', 'WORKSPACE_WARM_POOLSIZE=3'],
    ['line 1: unknown setting PATH', 'PATH=/bin'],
    ['line 1: unknown setting EMERGENT_URL', 'EMERGENT_URL=http://x'],
    ['line 2: is not NAME=value', '# size\nWORKSPACE_WARM_POOL_SIZE 3'],
    ['line 1: is not NAME=value', '=3'],
    ['line 1: is not NAME=value', 'WORKSPACE-WARM-POOL-SIZE=3'],
    ['line 3: EMERGENT_PORT is in line 1 already', 'EMERGENT_PORT=1\n\nEMERGENT_PORT=2'],
    ['line 1: the quotation mark is not closed', 'EMERGENT_SECRET_KEY="0123456789abcdef\n'],
    ['line 1: EMERGENT_CONFIG names this file', 'EMERGENT_CONFIG=x'],
  ])('%s', async (says, lines) => {
    const problems = await problemsOf(readWith(lines));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(`${file}: ${says}`);
  });

  test('suggests the setting that was meant', async () => {
    const [problem] = await problemsOf(readWith('WORKSPACE_WARM_POOLSIZE=3'));
    expect(problem).toMatch(/did you mean WORKSPACE_WARM_POOL_SIZE\?$/);
    expect((await problemsOf(readWith('NONSENSE=3')))[0]).toMatch(/unknown setting NONSENSE$/);
  });

  test('that was found in the data directory cannot lead to another', async () => {
    expect((await readWith(`EMERGENT_DATA_DIR=${directory}/`)).config.dataDir).toBe(directory);
    const [problem] = await problemsOf(readConfigurationOf('EMERGENT_DATA_DIR=/elsewhere'));
    expect(problem).toContain(`EMERGENT_DATA_DIR in ${file}: the file was found in the data`);
  });

  test('everything that is wrong is told at once, with where it is', async () => {
    const lines = 'EMERGENT_PORT=x\nFOO=1\nWORKSPACE_WARM_POOLS=[{"name":"a"}]\n';
    expect(await problemsOf(readWith(lines, { WORKSPACE_DEFAULT_CPU: 'two' }))).toEqual([
      `${file}: line 2: unknown setting FOO`,
      `EMERGENT_PORT in ${file}: "x" is not a port number`,
      `WORKSPACE_WARM_POOLS in ${file}: pool "a": size: is missing`,
      expect.stringMatching(/^WORKSPACE_DEFAULT_CPU: /) as unknown,
    ]);
  });

  async function readConfigurationOf(lines: string): Promise<Configuration> {
    await writeFile(file, lines);
    return readConfiguration({ EMERGENT_DATA_DIR: directory });
  }
});

describe('a changed configuration', () => {
  test('is told apart by what can change while the server runs', async () => {
    const before = await readWith('EMERGENT_PORT=1\nWORKSPACE_WARM_POOL_SIZE=3\n');
    const after = await readWith(
      'EMERGENT_PORT=2\nWORKSPACE_WARM_POOLS=[{"name":"a","size":1}]\nWORKSPACE_DEFAULT_CPU=1\n',
    );
    expect(changesBetween(before, after)).toEqual({
      live: ['WORKSPACE_WARM_POOL_SIZE', 'WORKSPACE_WARM_POOLS'],
      needRestart: ['EMERGENT_PORT', 'WORKSPACE_DEFAULT_CPU'],
    });
    const nothing = { live: [], needRestart: [] };
    expect(changesBetween(after, after)).toEqual(nothing);
    const spelledOut = await readWith('EMERGENT_PORT=7700\nWORKSPACE_WARM_POOL_SIZE=2\n');
    expect(changesBetween(await readWith(''), spelledOut)).toEqual(nothing);
  });

  test('takes effect as far as it can, and the rest is still a change', async () => {
    const before = await readWith('EMERGENT_PORT=1\nWORKSPACE_DEFAULT_CPU=4\n');
    const next = await readWith('EMERGENT_PORT=2\nWORKSPACE_WARM_POOL_SIZE=8\n');
    const now = withLiveSettings(before, next);
    expect(now.config).toEqual({ ...before.config, warmPoolSize: 8 });
    expect(changesBetween(now, next)).toEqual({
      live: [],
      needRestart: ['EMERGENT_PORT', 'WORKSPACE_DEFAULT_CPU'],
    });
    const back = withLiveSettings(now, before);
    expect(back.config).toEqual(before.config);
    expect(changesBetween(back, before)).toEqual({ live: [], needRestart: [] });
  });
});
