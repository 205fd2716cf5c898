import type { Command } from 'commander';
import type { NewWorkspace } from '../http/api-types.ts';
import { parseDurationMs } from './duration.ts';
import { collectPair, collectVariable } from './pairs.ts';
import type { Pairs } from './pairs.ts';

/** What `create` and `run` let the user say about a new workspace; the rest is the server's default. */
export interface CreateOptions {
  readonly provider?: string;
  readonly image?: string;
  readonly repo?: string;
  readonly branch?: string;
  readonly cpu?: string;
  readonly memory?: string;
  readonly disk?: string;
  readonly network?: string;
  readonly ttl?: number;
  readonly env?: Pairs;
  readonly metadata?: Pairs;
  readonly session?: string;
}

export function createOptions(command: Command): Command {
  return command
    .option('--provider <name>', 'see `emergent providers` (default: the best healthy one)')
    .option('--image <image>', 'what the workspace starts from; pulled where the engine lacks it')
    .option('--repo <url>', 'a git repository to clone into /workspace')
    .option('--branch <name>', 'of that repository (default: its own)')
    .option('--cpu <cores>', 'such as 2 or 0.5')
    .option('--memory <size>', 'such as 512M or 4G')
    .option('--disk <size>', 'such as 10G')
    .option('--network <mode>', 'nat or isolated')
    .option(
      '--ttl <duration>',
      'destroyed when unused for this long: 90s, 15m, 12h, 30d',
      parseDurationMs,
    )
    .option('--env <name=value>', 'environment variable (repeatable)', collectVariable)
    .option('--metadata <key=value>', 'your own notes on it (repeatable)', collectPair)
    .option('--session <id>', 'the agent session that it belongs to');
}

/** Fields that were not asked for are left out. */
export function newWorkspace(options: CreateOptions): NewWorkspace {
  const { cpu, memory, disk, ttl } = options;
  const limits = defined({ cpu, memory, disk });
  return defined({
    provider: options.provider,
    image: options.image,
    resource_limits: Object.keys(limits).length > 0 ? limits : undefined,
    network: options.network,
    ttl_seconds: ttl === undefined ? undefined : Math.ceil(ttl / 1000),
    env: options.env,
    metadata: options.metadata,
    agent_session_id: options.session,
    repository_url: options.repo,
    branch: options.branch,
  });
}

export type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** Only the fields that have a value. */
export function defined<T extends object>(fields: T): Defined<T> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as Defined<T>;
}
