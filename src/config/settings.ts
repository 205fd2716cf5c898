import { logLevels } from '../base/log.ts';
import { largestPool } from '../domain/warm-pool.ts';
import { deploymentModes } from '../domain/workspace.ts';

export const diskModeSettings = ['auto', 'quota', 'loop', 'monitor'] as const;

/** Names the configuration file: read before all others, and so not from the file itself. */
export const configFileSetting = 'EMERGENT_CONFIG';
/** Read from the data directory where no file is named. */
export const configFileName = 'emergent.env';

export interface Setting {
  readonly name: string;
  readonly default: string;
  readonly what: string;
  /** Can change while the server runs; the others wait for a restart. */
  readonly live?: true;
}

/** Every setting the server reads, for `emergent serve --help` and the README. */
export const settings: readonly Setting[] = [
  { name: 'EMERGENT_HOST', default: '127.0.0.1', what: 'address to listen on' },
  { name: 'EMERGENT_PORT', default: '7700', what: 'port to listen on; 0 picks a free one' },
  {
    name: 'EMERGENT_ADVERTISE_URL',
    default: 'none',
    what: 'where other servers on the same database reach this one, for requests that are its',
  },
  { name: 'EMERGENT_DATA_DIR', default: '~/.emergent', what: 'database, admin token, keys' },
  {
    name: configFileSetting,
    default: `${configFileName} in the data dir`,
    what: 'a file of NAME=value lines with more of these settings; the environment wins over it',
  },
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
  {
    name: 'EMERGENT_RECONCILE_INTERVAL',
    default: '1m',
    what: 'how often all rows are compared with what really runs, 5s to 1h',
  },
  {
    name: 'EMERGENT_MCP_GRACE',
    default: '30s',
    what: 'what MCP servers get to end by themselves when this server stops',
  },
  {
    name: 'EMERGENT_MCP_PING',
    default: '30s',
    what: 'silence after which an MCP server is asked whether it is there',
  },
  { name: 'DOCKER_HOST', default: 'unix:///var/run/docker.sock', what: 'the Docker engine' },
  { name: 'WORKSPACE_DEPLOYMENT_MODE', default: 'self-hosted', what: deploymentModes.join(', ') },
  { name: 'WORKSPACE_MAX_CONCURRENT', default: '10', what: 'workspaces that may run at once' },
  {
    name: 'WORKSPACE_WARM_POOL_SIZE',
    default: '2',
    what: `sandboxes that wait for the next create, 0 to ${String(largestPool)}`,
    live: true,
  },
  {
    name: 'WORKSPACE_WARM_POOLS',
    default: 'none',
    what: 'more of them, for other requests than the plain one: a JSON array, see below',
    live: true,
  },
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
