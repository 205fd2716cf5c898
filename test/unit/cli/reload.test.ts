import { expect, test } from 'vitest';
import { Reload } from '../../../src/cli/reload.ts';
import { ConfigError, loadConfig } from '../../../src/config.ts';
import type { Config, Configuration } from '../../../src/config.ts';

function configuration(values: Record<string, string>, overridden: string[] = []): Configuration {
  return { config: loadConfig(values), values, file: { path: '/x.env', found: true, overridden } };
}

interface Situation {
  /** What is written now. */
  next: Configuration | ConfigError;
  /** What applying it meets. */
  failure: Error | undefined;
  readonly applied: Config[];
  readonly told: string[];
  readonly reload: Reload;
}

function running(values: Record<string, string>): Situation {
  const applied: Config[] = [];
  const told: string[] = [];
  const situation = {
    ...{ applied, told, next: configuration(values) as Situation['next'] },
    failure: undefined as Error | undefined,
  };
  const reload = new Reload(configuration(values), {
    read: async () => {
      if (situation.next instanceof ConfigError) throw situation.next;
      return situation.next;
    },
    apply: async (config) => {
      if (situation.failure) throw situation.failure;
      applied.push(config);
    },
    tell: (text) => told.push(text),
  });
  return Object.assign(situation, { reload });
}

test('what can change is applied by the defaults in force; the rest is named every time', async () => {
  const server = running({ WORKSPACE_DEFAULT_CPU: '4' });
  server.next = configuration({ EMERGENT_PORT: '1', WORKSPACE_WARM_POOL_SIZE: '9' });
  const needed = ['EMERGENT_PORT', 'WORKSPACE_DEFAULT_CPU'].map(
    (name) => `${name} changed: needs a restart`,
  );
  await server.reload.request();
  expect(server.told).toEqual([
    'configuration applied (/x.env): WORKSPACE_WARM_POOL_SIZE',
    ...needed,
  ]);
  expect(server.applied).toMatchObject([
    { port: 7700, warmPoolSize: 9, defaultLimits: { cpu: 4 } },
  ]);
  server.told.length = 0;
  await server.reload.request();
  expect(server.told).toEqual(['configuration read again (/x.env): nothing to apply', ...needed]);
  expect(server.applied).toHaveLength(1);
});

test('a wrong configuration changes nothing, and says all that is wrong', async () => {
  const server = running({});
  server.next = new ConfigError(['A: is wrong', 'B: is worse']);
  await server.reload.request();
  expect(server.told).toEqual(['configuration not applied: A: is wrong; B: is worse']);
  expect(server.applied).toEqual([]);
});

test('what could not be applied is tried again at the next request', async () => {
  const server = running({});
  server.next = configuration({ WORKSPACE_WARM_POOL_SIZE: '9' });
  server.failure = new Error('the database is away');
  await server.reload.request();
  expect(server.told).toEqual(['configuration not applied: the database is away']);
  server.failure = undefined;
  await server.reload.request();
  expect(server.applied).toMatchObject([{ warmPoolSize: 9 }]);
});

test('what the environment overrides, and a file that is not there, are told', async () => {
  const server = running({});
  server.next = configuration({}, ['EMERGENT_PORT']);
  await server.reload.request();
  expect(server.told[1]).toBe('EMERGENT_PORT in /x.env is not used: the environment wins');
  const none = configuration({});
  server.next = { ...none, file: { ...none.file, found: false } };
  await server.reload.request();
  expect(server.told.at(-1)).toBe(
    'configuration read again (there is no /x.env): nothing to apply',
  );
});

test('whoever asks meanwhile gets one more reading, after the first', async () => {
  const reading = Promise.withResolvers<undefined>();
  let begun = 0;
  const told: string[] = [];
  const reload = new Reload(configuration({}), {
    read: async () => {
      begun += 1;
      if (begun === 1) await reading.promise;
      return configuration({ WORKSPACE_WARM_POOL_SIZE: String(begun) });
    },
    apply: async () => undefined,
    tell: (text) => told.push(text),
  });
  const all = Promise.all([reload.request(), reload.request(), reload.request()]);
  expect(begun).toBe(1);
  reading.resolve(undefined);
  await all;
  expect(begun).toBe(2);
});
