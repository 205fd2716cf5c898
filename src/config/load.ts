import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { logLevels } from '../base/log.ts';
import type { LogLevel } from '../base/log.ts';
import { reasonOf } from '../base/reason.ts';
import { parseCpu, parseDisk, parseMemory } from '../domain/limits.ts';
import type { ResourceLimits } from '../domain/limits.ts';
import { largestPool } from '../domain/warm-pool.ts';
import { deploymentModes } from '../domain/workspace.ts';
import type { DeploymentMode } from '../domain/workspace.ts';
import { ConfigError } from './config-error.ts';
import {
  numberFrom,
  oneOf,
  parseAddresses,
  parseAdvertiseUrl,
  parseBoolean,
  parseDatabaseUrl,
  parseDockerHost,
  parseDuration,
  parseIdleTime,
  parsePort,
  parseReconcileInterval,
  parseSecret,
  parseTtl,
} from './parse.ts';
import { diskModeSettings } from './settings.ts';
import { parseWarmPools } from './warm-pools.ts';
import type { WarmPoolSetting } from './warm-pools.ts';

export interface Config {
  readonly host: string;
  readonly port: number;
  /** Where the other servers on the same database reach this one; unset: they pass nothing on to it. */
  readonly advertiseUrl: string | undefined;
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
  /** Of the pool for requests that leave everything to the server. */
  readonly warmPoolSize: number;
  /** Pools besides it. */
  readonly warmPools: readonly WarmPoolSetting[];
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
  /** How often rows are compared with reality, beside whenever something was found out of order. */
  readonly reconcileSeconds: number;
  /** What programs of MCP servers get between SIGTERM and force when this server ends. */
  readonly mcpGraceSeconds: number;
  /** How long an MCP server may be silent before it is asked whether it is there. */
  readonly mcpPingSeconds: number;
  /** Name servers for workspaces; empty: the host's own, as far as a sandbox can reach them. */
  readonly nameservers: readonly string[];
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** `placed` names a setting in a problem, with where it was set if that is not the environment. */
export function loadConfig(
  env: Environment,
  placed: (name: string) => string = (name) => name,
): Config {
  const problems: string[] = [];
  const read = <T>(name: string, fallback: string, parse: (text: string) => T): T | undefined => {
    const text = env[name];
    try {
      return parse(text === undefined || text === '' ? fallback : text);
    } catch (error) {
      const found = error instanceof ConfigError ? error.problems : [reasonOf(error)];
      problems.push(...found.map((problem) => `${placed(name)}: ${problem}`));
      return undefined;
    }
  };
  const text = (name: string): string | undefined => env[name] || undefined;
  const draft = {
    host: env['EMERGENT_HOST'] || '127.0.0.1',
    port: read('EMERGENT_PORT', '7700', parsePort),
    advertiseUrl: read('EMERGENT_ADVERTISE_URL', '', parseAdvertiseUrl),
    dataDir: resolve(env['EMERGENT_DATA_DIR'] || join(homedir(), '.emergent')),
    adminToken: read('EMERGENT_ADMIN_TOKEN', '', parseSecret),
    secretKey: read('EMERGENT_SECRET_KEY', '', parseSecret),
    eventRetentionSeconds: read('EMERGENT_EVENT_RETENTION', '90d', parseDuration),
    reconcileSeconds: read('EMERGENT_RECONCILE_INTERVAL', '1m', parseReconcileInterval),
    mcpGraceSeconds: read('EMERGENT_MCP_GRACE', '30s', parseDuration),
    mcpPingSeconds: read('EMERGENT_MCP_PING', '30s', parseDuration),
    skipSetup: read('EMERGENT_SKIP_SETUP', 'false', parseBoolean),
    demo: read('EMERGENT_DEMO', 'false', parseBoolean),
    logLevel: read('EMERGENT_LOG_LEVEL', 'info', oneOf(logLevels)),
    databaseUrl: read('DATABASE_URL', '', parseDatabaseUrl),
    dockerHost: read('DOCKER_HOST', '', parseDockerHost),
    deploymentMode: read('WORKSPACE_DEPLOYMENT_MODE', 'self-hosted', oneOf(deploymentModes)),
    maxConcurrent: read('WORKSPACE_MAX_CONCURRENT', '10', numberFrom(1, 100_000)),
    warmPoolSize: read('WORKSPACE_WARM_POOL_SIZE', '2', numberFrom(0, largestPool)),
    warmPools: read('WORKSPACE_WARM_POOLS', '', parseWarmPools),
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
