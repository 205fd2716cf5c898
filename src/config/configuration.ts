import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { ConfigError } from './config-error.ts';
import { readConfigFile } from './file.ts';
import { loadConfig } from './load.ts';
import type { Config, Environment } from './load.ts';
import { configFileName, configFileSetting, settings } from './settings.ts';

/** The settings of a server, and where they came from. */
export interface Configuration {
  readonly config: Config;
  /** As they were written, of those that are set. */
  readonly values: Environment;
  readonly file: {
    readonly path: string;
    /** False where no file was named and there is none in the data directory. */
    readonly found: boolean;
    /** Set in the file, and otherwise in the environment, which holds. */
    readonly overridden: readonly string[];
  };
}

/**
 * From the environment, then the configuration file, then `fallback`. Throws a ConfigError with every problem of
 * them together.
 */
export async function readConfiguration(
  env: Environment,
  fallback: Environment = {},
): Promise<Configuration> {
  const named = env[configFileSetting];
  const path = resolve(named || join(dataDirOf(env), configFileName));
  const file = await readConfigFile(path);
  if (!file && named) throw new ConfigError([`${configFileSetting}: there is no file ${path}`]);
  const inFile: Environment = file?.values ?? {};
  const values = Object.fromEntries(
    settings.flatMap(({ name }) => {
      const value = env[name] || inFile[name] || fallback[name];
      return value ? [[name, value]] : [];
    }),
  );
  const placed = (name: string): string =>
    !env[name] && inFile[name] ? `${name} in ${path}` : name;
  const problems = [...(file?.problems ?? []), ...otherDataDir(env, inFile, path)];
  const config = loadWith(problems, values, placed);
  const overridden = Object.keys(inFile).filter((name) => env[name] && env[name] !== inFile[name]);
  return { config, values, file: { path, found: file !== undefined, overridden } };
}

function loadWith(
  problems: readonly string[],
  values: Environment,
  placed: (name: string) => string,
): Config {
  try {
    const config = loadConfig(values, placed);
    if (problems.length === 0) return config;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError([...problems, ...error.problems], { cause: error });
  }
  throw new ConfigError(problems);
}

function dataDirOf(env: Environment): string {
  return env['EMERGENT_DATA_DIR'] || join(homedir(), '.emergent');
}

/** A file that is found in the data directory cannot lead to another one: the command would not find that. */
function otherDataDir(env: Environment, inFile: Environment, path: string): readonly string[] {
  const wanted = inFile['EMERGENT_DATA_DIR'];
  if (env[configFileSetting] || !wanted || resolve(wanted) === resolve(dataDirOf(env))) return [];
  return [
    `EMERGENT_DATA_DIR in ${path}: the file was found in the data directory; ${configFileSetting} names one elsewhere`,
  ];
}

/** The names of the settings that two configurations differ in. */
export interface SettingChanges {
  /** Can take effect in a running server. */
  readonly live: readonly string[];
  readonly needRestart: readonly string[];
}

export function changesBetween(before: Configuration, after: Configuration): SettingChanges {
  const valueIn = ({ values }: Configuration, name: string): string | undefined => values[name];
  const changed = settings.filter(
    (setting) =>
      (valueIn(before, setting.name) ?? setting.default) !==
      (valueIn(after, setting.name) ?? setting.default),
  );
  const names = (live: boolean): readonly string[] =>
    changed.filter((setting) => (setting.live === true) === live).map(({ name }) => name);
  return { live: names(true), needRestart: names(false) };
}

/**
 * What a running server has after it was told `next`: only what can change while it runs. Pools stay made by the
 * defaults in force, which is what requests are answered by.
 */
export function withLiveSettings(running: Configuration, next: Configuration): Configuration {
  const live = settings.filter((setting) => setting.live === true).map(({ name }) => name);
  const kept = Object.entries(running.values).filter(([name]) => !live.includes(name));
  const taken = Object.entries(next.values).filter(([name]) => live.includes(name));
  const { warmPoolSize, warmPools } = next.config;
  return {
    config: Object.freeze({ ...running.config, warmPoolSize, warmPools }),
    values: Object.fromEntries([...kept, ...taken]),
    file: next.file,
  };
}
