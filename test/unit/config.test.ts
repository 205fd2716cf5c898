import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ConfigError, loadConfig, parseDuration, settings } from '../../src/config.ts';

const GiB = 2 ** 30;

function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    loadConfig(env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

describe('loadConfig', () => {
  test('an empty environment gives every default', () => {
    expect(loadConfig({})).toEqual({
      host: '127.0.0.1',
      port: 7700,
      dataDir: join(homedir(), '.emergent'),
      adminToken: undefined,
      secretKey: undefined,
      mcpGraceSeconds: 30,
      mcpPingSeconds: 30,
      eventRetentionSeconds: 90 * 86_400,
      reconcileSeconds: 60,
      skipSetup: false,
      demo: false,
      logLevel: 'info',
      databaseUrl: undefined,
      dockerHost: undefined,
      deploymentMode: 'self-hosted',
      maxConcurrent: 10,
      warmPoolSize: 2,
      warmPools: [],
      defaultTtlSeconds: 30 * 86_400,
      defaultLimits: { cpu: 2, memoryBytes: 4 * GiB, diskBytes: 10 * GiB },
      defaultImage: undefined,
      allowUnsandboxed: false,
      diskMode: 'auto',
      idleFreezeSeconds: 5,
      allowUnfilteredNetwork: false,
      nameservers: [],
    });
  });

  test('a variable that is set but empty counts as unset', () => {
    const empty = Object.fromEntries(settings.map(({ name }) => [name, '']));
    expect(loadConfig(empty)).toEqual(loadConfig({}));
  });

  test('every variable is taken', () => {
    const config = loadConfig({
      EMERGENT_HOST: '0.0.0.0',
      EMERGENT_PORT: '0',
      EMERGENT_DATA_DIR: 'some/where',
      EMERGENT_ADMIN_TOKEN: 'sixteen-letters!',
      EMERGENT_SECRET_KEY: 'sixteen-secrets!',
      EMERGENT_MCP_GRACE: '2m',
      EMERGENT_MCP_PING: '5s',
      EMERGENT_EVENT_RETENTION: '7d',
      EMERGENT_RECONCILE_INTERVAL: '5s',
      EMERGENT_SKIP_SETUP: '1',
      EMERGENT_DEMO: 'YES',
      EMERGENT_LOG_LEVEL: 'debug',
      DATABASE_URL: 'postgresql://db/emergent',
      DOCKER_HOST: 'tcp://engine:2375',
      WORKSPACE_DEPLOYMENT_MODE: 'managed',
      WORKSPACE_MAX_CONCURRENT: '3',
      WORKSPACE_WARM_POOL_SIZE: '7',
      WORKSPACE_WARM_POOLS: '[{"name":"python","size":1}]',
      WORKSPACE_DEFAULT_TTL: '90s',
      WORKSPACE_DEFAULT_CPU: '0.5',
      WORKSPACE_DEFAULT_MEMORY: '512M',
      WORKSPACE_DEFAULT_DISK: '1G',
      WORKSPACE_DEFAULT_IMAGE: 'debian:12',
      WORKSPACE_ALLOW_UNSANDBOXED: 'true',
      WORKSPACE_ALLOW_UNFILTERED_NETWORK: 'true',
      WORKSPACE_DISK_MODE: 'loop',
      WORKSPACE_IDLE_FREEZE: 'off',
      WORKSPACE_DISK_DIR: 'some/disks',
      WORKSPACE_NAMESERVERS: ' 9.9.9.9 ,, 2620:fe::fe',
    });
    expect(config).toEqual({
      host: '0.0.0.0',
      port: 0,
      dataDir: resolve('some/where'),
      adminToken: 'sixteen-letters!',
      secretKey: 'sixteen-secrets!',
      mcpGraceSeconds: 120,
      mcpPingSeconds: 5,
      eventRetentionSeconds: 7 * 86_400,
      reconcileSeconds: 5,
      skipSetup: true,
      demo: true,
      logLevel: 'debug',
      databaseUrl: 'postgresql://db/emergent',
      dockerHost: 'tcp://engine:2375',
      deploymentMode: 'managed',
      maxConcurrent: 3,
      warmPoolSize: 7,
      warmPools: [{ name: 'python', size: 1 }],
      defaultTtlSeconds: 90,
      defaultLimits: { cpu: 0.5, memoryBytes: GiB / 2, diskBytes: GiB },
      defaultImage: 'debian:12',
      allowUnsandboxed: true,
      diskMode: 'loop',
      idleFreezeSeconds: null,
      diskDir: resolve('some/disks'),
      allowUnfilteredNetwork: true,
      nameservers: ['9.9.9.9', '2620:fe::fe'],
    });
  });

  test('`settings` lists exactly the variables that are read, each once', () => {
    const read = new Set<string>();
    const watched = new Proxy<Record<string, string>>(
      {},
      {
        get: (_target, name) => {
          read.add(String(name));
          return undefined;
        },
      },
    );
    loadConfig(watched);
    // The one that says where the others are.
    read.add('EMERGENT_CONFIG');
    expect(settings.map(({ name }) => name).toSorted()).toEqual([...read].toSorted());
    for (const { what } of settings) expect(what).not.toBe('');
  });

  test('the defaults that `settings` shows are those in force', () => {
    const values = new Set([
      ...['EMERGENT_HOST', 'EMERGENT_PORT', 'EMERGENT_SKIP_SETUP', 'EMERGENT_DEMO'],
      ...['EMERGENT_LOG_LEVEL', 'WORKSPACE_DEPLOYMENT_MODE', 'WORKSPACE_DEFAULT_TTL'],
      ...['WORKSPACE_DEFAULT_CPU', 'WORKSPACE_DEFAULT_MEMORY', 'WORKSPACE_DEFAULT_DISK'],
      ...['WORKSPACE_ALLOW_UNSANDBOXED', 'WORKSPACE_MAX_CONCURRENT', 'EMERGENT_EVENT_RETENTION'],
      ...['WORKSPACE_IDLE_FREEZE', 'WORKSPACE_WARM_POOL_SIZE', 'EMERGENT_RECONCILE_INTERVAL'],
    ]);
    const shown = settings.filter(({ name }) => values.has(name));
    expect(shown).toHaveLength(values.size);
    const env = Object.fromEntries(shown.map((setting) => [setting.name, setting.default]));
    expect(loadConfig(env)).toEqual(loadConfig({}));
  });

  test('is frozen to the bottom', () => {
    const config = loadConfig({
      WORKSPACE_NAMESERVERS: '9.9.9.9',
      WORKSPACE_WARM_POOLS: '[{"name":"python","size":1}]',
    });
    const { defaultLimits, nameservers, warmPools } = config;
    for (const part of [config, defaultLimits, nameservers, warmPools, ...warmPools]) {
      expect(Object.isFrozen(part)).toBe(true);
    }
  });

  const wrong: Record<string, readonly string[]> = {
    EMERGENT_PORT: ['65536', '-1', '1.5', 'http', '0x50', ' 80'],
    EMERGENT_ADMIN_TOKEN: ['short', 'has a space in it, sadly', 'ümlaute-sind-nicht-erlaubt'],
    EMERGENT_SECRET_KEY: ['too short', 'with spaces in between'],
    EMERGENT_RECONCILE_INTERVAL: ['4s', '3601s', '1d', '1'],
    EMERGENT_SKIP_SETUP: ['maybe', '2'],
    EMERGENT_DEMO: ['on'],
    EMERGENT_LOG_LEVEL: ['loud', 'INFO'],
    DATABASE_URL: ['mysql://db/x', 'db', 'postgres://[bad'],
    DOCKER_HOST: ['engine:2375', 'ssh://root@engine', 'unix://', 'tcp://', '/run/docker.sock'],
    WORKSPACE_DEPLOYMENT_MODE: ['cloud'],
    WORKSPACE_MAX_CONCURRENT: ['0', '-1', '1.5', 'many', '100001'],
    WORKSPACE_WARM_POOL_SIZE: ['-1', '1.5', 'few', '201'],
    WORKSPACE_WARM_POOLS: ['python', '{}', '[1]', 'null', '[{"name":"a"}]'],
    WORKSPACE_DEFAULT_TTL: [
      '59s',
      '30',
      '0d',
      '1w',
      '-1s',
      '1.5h',
      '99999999d',
      '9'.repeat(400) + 's',
    ],
    WORKSPACE_DEFAULT_CPU: ['0', 'two'],
    WORKSPACE_DEFAULT_MEMORY: ['4X', '0'],
    WORKSPACE_DEFAULT_DISK: ['much'],
    WORKSPACE_ALLOW_UNSANDBOXED: ['sure'],
    WORKSPACE_NAMESERVERS: ['dns.example', '9.9.9.9,1.1.1', '9.9.9.9 1.1.1.1'],
  };
  const cases = Object.entries(wrong).flatMap(([name, values]) =>
    values.map((value): [string, string] => [name, value]),
  );
  test.each(cases)('%s=%s is refused by name', (name, value) => {
    const problems = problemsOf({ [name]: value });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(new RegExp(`^${name}: .`));
  });

  test('an admin token that is refused is not repeated', () => {
    expect(problemsOf({ EMERGENT_ADMIN_TOKEN: 'hunter2' }).join()).not.toContain('hunter2');
  });

  test('every problem is reported together', () => {
    const env = Object.fromEntries(Object.entries(wrong).map(([name, [value]]) => [name, value]));
    expect(problemsOf(env as Record<string, string>)).toEqual(
      Object.keys(wrong).map((name) => expect.stringMatching(`^${name}: `) as unknown),
    );
    expect(() => loadConfig({ EMERGENT_PORT: 'x', EMERGENT_DEMO: 'x' })).toThrow(
      /EMERGENT_PORT.*EMERGENT_DEMO/,
    );
  });

  test('any environment gives a whole configuration or a ConfigError', () => {
    const names = settings.map(({ name }) => name);
    const env = fc.dictionary(fc.constantFrom(...names), fc.string());
    fc.assert(
      fc.property(env, (values) => {
        const problems = problemsOf(values);
        if (problems.length > 0) return;
        const { port, defaultLimits, defaultTtlSeconds } = loadConfig(values);
        const { cpu, memoryBytes, diskBytes } = defaultLimits;
        for (const number of [port, defaultTtlSeconds, cpu, memoryBytes, diskBytes]) {
          expect(number).toBeTypeOf('number');
        }
      }),
    );
  });
});

test.each([
  ['90s', 90],
  ['15m', 900],
  ['12h', 43_200],
  ['30d', 2_592_000],
])('parseDuration reads %s', (text, seconds) => {
  expect(parseDuration(text)).toBe(seconds);
});
