import { isIP } from 'node:net';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { logLevels } from './base/log.ts';
import type { LogLevel } from './base/log.ts';
import { reasonOf } from './base/reason.ts';
import { parseCpu, parseDisk, parseMemory } from './domain/limits.ts';
import type { ResourceLimits } from './domain/limits.ts';
import { deploymentModes } from './domain/workspace.ts';
import type { DeploymentMode } from './domain/workspace.ts';

export interface Config {
  readonly host: string;
  readonly port: number;
  readonly dataDir: string;
  readonly adminToken: string | undefined;
  readonly skipSetup: boolean;
  readonly demo: boolean;
  readonly logLevel: LogLevel;
  readonly databaseUrl: string | undefined;
  readonly dockerHost: string | undefined;
  readonly deploymentMode: DeploymentMode;
  /** Agent workspaces that may run at once, on all servers of the database together. */
  readonly maxConcurrent: number;
  readonly defaultTtlSeconds: number;
  readonly defaultLimits: ResourceLimits;
  /** Unset: the base image that set-up builds. */
  readonly defaultImage: string | undefined;
  readonly allowUnsandboxed: boolean;
  /** Network `nat` also where nothing keeps workspaces from the host and its private networks. */
  readonly allowUnfilteredNetwork: boolean;
  /** How the disk limit is held; `auto` tries what the host can do. */
  readonly diskMode: (typeof diskModeSettings)[number];
  /** Unset: one that all servers of this host share, or one in the data directory for whoever may not write there. */
  readonly diskDir: string | undefined;
  /** How long nobody must have used a workspace before it is frozen; null: none is ever frozen. */
  readonly idleFreezeSeconds: number | null;
  /** Seals what is secret in the database; unset: the key is in the database too. */
  readonly secretKey: string | undefined;
  readonly eventRetentionSeconds: number;
  /** Name servers for workspaces; empty: the host's own, as far as a sandbox can reach them. */
  readonly nameservers: readonly string[];
}

export const diskModeSettings = ['auto', 'quota', 'loop', 'monitor'] as const;

export interface Setting {
  readonly name: string;
  readonly default: string;
  readonly what: string;
}

/** Every setting the server reads, for `emergent serve --help` and the README. */
export const settings: readonly Setting[] = [
  { name: 'EMERGENT_HOST', default: '127.0.0.1', what: 'address to listen on' },
  { name: 'EMERGENT_PORT', default: '7700', what: 'port to listen on; 0 picks a free one' },
  { name: 'EMERGENT_DATA_DIR', default: '~/.emergent', what: 'database, admin token, keys' },
  { name: 'EMERGENT_ADMIN_TOKEN', default: 'generated', what: 'admin token to use instead' },
  { name: 'EMERGENT_SKIP_SETUP', default: 'false', what: 'start without touching the host' },
  {
    name: 'EMERGENT_DEMO',
    default: 'false',
    what: 'no isolation at all: try the API without Docker',
  },
  { name: 'EMERGENT_LOG_LEVEL', default: 'info', what: logLevels.join(', ') },
  { name: 'DATABASE_URL', default: 'PGlite in the data dir', what: 'a PostgreSQL server instead' },
  {
    name: 'EMERGENT_SECRET_KEY',
    default: 'kept in the database',
    what: 'seals stored environments; the same on every server, and not to be lost',
  },
  { name: 'EMERGENT_EVENT_RETENTION', default: '90d', what: 'how long events are kept' },
  { name: 'DOCKER_HOST', default: 'unix:///var/run/docker.sock', what: 'the Docker engine' },
  { name: 'WORKSPACE_DEPLOYMENT_MODE', default: 'self-hosted', what: deploymentModes.join(', ') },
  { name: 'WORKSPACE_MAX_CONCURRENT', default: '10', what: 'workspaces that may run at once' },
  {
    name: 'WORKSPACE_DEFAULT_TTL',
    default: '30d',
    what: 'life of an unused workspace (s, m, h, d)',
  },
  { name: 'WORKSPACE_DEFAULT_CPU', default: '2', what: 'CPU cores' },
  { name: 'WORKSPACE_DEFAULT_MEMORY', default: '4G', what: 'memory' },
  { name: 'WORKSPACE_DEFAULT_DISK', default: '10G', what: 'disk' },
  { name: 'WORKSPACE_DISK_MODE', default: 'auto', what: diskModeSettings.join(', ') },
  {
    name: 'WORKSPACE_DISK_DIR',
    default: '/var/lib/emergent/disks',
    what: 'where the disks of workspaces are; the same on every server of a host',
  },
  {
    name: 'WORKSPACE_IDLE_FREEZE',
    default: '5s',
    what: 'idle time after which a workspace uses no CPU at all (s, m, h, d); off: never',
  },
  { name: 'WORKSPACE_DEFAULT_IMAGE', default: 'emergent-workspace', what: 'image of a workspace' },
  {
    name: 'WORKSPACE_ALLOW_UNSANDBOXED',
    default: 'false',
    what: 'let auto choose weaker isolation',
  },
  {
    name: 'WORKSPACE_ALLOW_UNFILTERED_NETWORK',
    default: 'false',
    what: 'network nat also where the host cannot be shielded from it',
  },
  { name: 'WORKSPACE_NAMESERVERS', default: "the host's", what: 'comma-separated addresses' },
];

/** Lists every problem at once, so that a wrong configuration is mended in one go. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`configuration: ${problems.join('; ')}`);
    this.problems = problems;
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

export function loadConfig(env: Environment): Config {
  const problems: string[] = [];
  const read = <T>(name: string, fallback: string, parse: (text: string) => T): T | undefined => {
    const text = env[name];
    try {
      return parse(text === undefined || text === '' ? fallback : text);
    } catch (error) {
      problems.push(`${name}: ${reasonOf(error)}`);
      return undefined;
    }
  };
  const text = (name: string): string | undefined => env[name] || undefined;
  const draft = {
    host: env['EMERGENT_HOST'] || '127.0.0.1',
    port: read('EMERGENT_PORT', '7700', parsePort),
    dataDir: resolve(env['EMERGENT_DATA_DIR'] || join(homedir(), '.emergent')),
    adminToken: read('EMERGENT_ADMIN_TOKEN', '', parseSecret),
    secretKey: read('EMERGENT_SECRET_KEY', '', parseSecret),
    eventRetentionSeconds: read('EMERGENT_EVENT_RETENTION', '90d', parseDuration),
    skipSetup: read('EMERGENT_SKIP_SETUP', 'false', parseBoolean),
    demo: read('EMERGENT_DEMO', 'false', parseBoolean),
    logLevel: read('EMERGENT_LOG_LEVEL', 'info', oneOf(logLevels)),
    databaseUrl: read('DATABASE_URL', '', parseDatabaseUrl),
    dockerHost: read('DOCKER_HOST', '', parseDockerHost),
    deploymentMode: read('WORKSPACE_DEPLOYMENT_MODE', 'self-hosted', oneOf(deploymentModes)),
    maxConcurrent: read('WORKSPACE_MAX_CONCURRENT', '10', parseCount),
    defaultTtlSeconds: read('WORKSPACE_DEFAULT_TTL', '30d', parseTtl),
    defaultLimits: {
      cpu: read('WORKSPACE_DEFAULT_CPU', '2', (value) => parseCpu(value, 'CPU')),
      memoryBytes: read('WORKSPACE_DEFAULT_MEMORY', '4G', (value) => parseMemory(value, 'memory')),
      diskBytes: read('WORKSPACE_DEFAULT_DISK', '10G', (value) => parseDisk(value, 'disk')),
    },
    defaultImage: text('WORKSPACE_DEFAULT_IMAGE'),
    diskMode: read('WORKSPACE_DISK_MODE', 'auto', oneOf(diskModeSettings)),
    diskDir: read('WORKSPACE_DISK_DIR', '', (path) => (path === '' ? undefined : resolve(path))),
    idleFreezeSeconds: read('WORKSPACE_IDLE_FREEZE', '5s', parseIdleTime),
    allowUnsandboxed: read('WORKSPACE_ALLOW_UNSANDBOXED', 'false', parseBoolean),
    allowUnfilteredNetwork: read('WORKSPACE_ALLOW_UNFILTERED_NETWORK', 'false', parseBoolean),
    nameservers: read('WORKSPACE_NAMESERVERS', '', parseAddresses),
  };
  if (problems.length > 0) throw new ConfigError(problems);
  // Every value that failed to parse has left a problem, so what remains is complete.
  const config = draft as Config;
  Object.freeze(config.defaultLimits);
  Object.freeze(config.nameservers);
  return Object.freeze(config);
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new Error(`"${text}" is not a port number`);
  return port;
}

function parseCount(text: string): number {
  const count = Number(text);
  if (!/^\d+$/.test(text) || count < 1 || count > 100_000) {
    throw new Error(`"${text}" is not a number from 1 to 100000`);
  }
  return count;
}

function parseBoolean(text: string): boolean {
  if (['true', '1', 'yes'].includes(text.toLowerCase())) return true;
  if (['false', '0', 'no'].includes(text.toLowerCase())) return false;
  throw new Error(`"${text}" is not true or false`);
}

function parseSecret(text: string): string | undefined {
  if (text === '') return undefined;
  if (text.length < 16 || !/^[\x21-\x7e]+$/.test(text)) {
    throw new Error('needs at least 16 printable characters without spaces');
  }
  return text;
}

function parseDatabaseUrl(text: string): string | undefined {
  if (text === '') return undefined;
  if (!/^postgres(ql)?:\/\//.test(text) || !URL.canParse(text)) {
    throw new Error('is not a postgres:// URL');
  }
  return text;
}

function parseDockerHost(text: string): string | undefined {
  if (text === '') return undefined;
  const url = URL.parse(text);
  const place = url?.protocol === 'unix:' ? url.pathname : url?.hostname;
  if (!place || !['unix:', 'tcp:', 'http:', 'https:'].includes(url?.protocol ?? '')) {
    throw new Error(`"${text}" is not a URL such as unix:///run/docker.sock or tcp://host:2375`);
  }
  return text;
}

/** The agent in a sandbox does not start with a name server that is no address. */
function parseAddresses(text: string): readonly string[] {
  const addresses = text.split(',').flatMap((item) => item.trim() || []);
  for (const address of addresses) {
    if (isIP(address) === 0) throw new Error(`"${address}" is not an IP address`);
  }
  return addresses;
}

function oneOf<const T extends string>(allowed: readonly T[]): (text: string) => T {
  return (text) => {
    const found = allowed.find((item) => item === text);
    if (found === undefined) throw new Error(`"${text}" is not one of ${allowed.join(', ')}`);
    return found;
  };
}

/** The use of a busy workspace is noted several times within the shortest. */
function parseTtl(text: string): number {
  const seconds = parseDuration(text);
  if (seconds < 60) throw new Error(`"${text}" is less than a minute`);
  return seconds;
}

function parseIdleTime(text: string): number | null {
  return ['off', 'false', '0', '0s'].includes(text.toLowerCase()) ? null : parseDuration(text);
}

const durationUnits: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };
/** Ten years: what the API allows, and far from where dates end. */
const longestSeconds = 3650 * 86_400;

/** "90s", "15m", "12h", "30d" in seconds. */
export function parseDuration(text: string): number {
  const match = /^(\d+)([smhd])$/.exec(text);
  const seconds = Number(match?.[1]) * (durationUnits[match?.[2] ?? ''] ?? Number.NaN);
  if (!(seconds > 0 && seconds <= longestSeconds)) {
    throw new Error(`"${text}" is not a duration such as 90s, 15m, 12h or 30d, at most 3650d`);
  }
  return seconds;
}
