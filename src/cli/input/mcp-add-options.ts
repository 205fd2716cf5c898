import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import { UsageFailure } from '../failure.ts';
import type { NewMcpServer } from '../http/mcp-types.ts';
import { defined } from './create-options.ts';
import { parseDurationMs } from './duration.ts';
import { readEnvFile } from './mcp-env-file.ts';
import { collectPair, collectVariable } from './pairs.ts';
import type { Pairs } from './pairs.ts';

/** What `mcp add` lets the user say about a new server; the rest is the default of ours. */
export interface AddOptions {
  readonly image?: string;
  readonly env?: Pairs;
  readonly envFile?: readonly string[];
  readonly volume?: readonly string[];
  readonly port?: number;
  readonly path?: string;
  readonly restart?: string;
  readonly cpu?: string;
  readonly memory?: string;
  readonly disk?: string;
  readonly network?: string;
  readonly provider?: string;
  readonly maxInFlight?: number;
  readonly initTimeout?: number;
  readonly workdir?: string;
  readonly shared?: boolean;
  readonly metadata?: Pairs;
}

export function addOptions(command: Command): Command {
  return command
    .option('--image <image>', 'where its program is found (default: that of workspaces)')
    .option(
      '--env <name=value>',
      'environment variable; a name alone takes our own value (repeatable)',
      collectVariable,
    )
    .option('--env-file <file>', 'environment variables, one in each line (repeatable)', collect)
    .option('--volume <path>', 'a directory whose files outlive restarts (repeatable)', collect)
    .option('--port <number>', 'it speaks HTTP itself, on this port in its sandbox', parsePort)
    .option('--path <path>', 'of its MCP endpoint on that port (default: /mcp)')
    .addOption(
      new Option('--restart <policy>', 'when its program ends (default: on-failure)').choices([
        'always',
        'on-failure',
        'never',
      ]),
    )
    .option('--cpu <cores>', 'such as 1 or 0.5 (default: 0.5)')
    .option('--memory <size>', 'such as 512M or 2G (default: 512M)')
    .option('--disk <size>', 'such as 1G (default: 1G)')
    .option('--network <mode>', 'isolated, or nat to reach the internet (default: isolated)')
    .option('--provider <name>', 'see `emergent providers` (default: the best healthy one)')
    .option('--max-in-flight <count>', 'calls that it is given at once; 1: one by one', parseCount)
    .option(
      '--init-timeout <duration>',
      'how long it may take to introduce itself, such as 90s',
      parseDurationMs,
    )
    .option('--workdir <path>', "where its program starts (default: the image's own)")
    .option('--shared', 'every token may use it, not only yours')
    .option('--metadata <key=value>', 'your own notes on it (repeatable)', collectPair);
}

/** Fields that were not asked for are left out. Without a command, the image's own is meant. */
export function newMcpServer(
  name: string,
  [command, ...args]: readonly string[],
  options: AddOptions,
): NewMcpServer {
  const { cpu, memory, disk, port, path } = options;
  if (path !== undefined && port === undefined) {
    throw new UsageFailure(
      '--path is of a server that speaks HTTP itself',
      'Say --port as well; a server that speaks over its standard input has no path.',
    );
  }
  const env = Object.assign({}, ...(options.envFile ?? []).map(readEnvFile), options.env) as Pairs;
  const limits = defined({ cpu, memory, disk });
  return {
    name,
    ...defined({
      image: options.image,
      command,
      args: args.length > 0 ? args : undefined,
      workdir: options.workdir,
      env: some(env),
      stdio_bridge: port === undefined ? undefined : false,
      port,
      path,
      restart_policy: options.restart,
      volumes: options.volume,
      resource_limits: some(limits),
      network: options.network,
      provider: options.provider,
      max_in_flight: options.maxInFlight,
      initialize_timeout_ms: options.initTimeout,
      shared: options.shared,
      metadata: options.metadata,
    }),
  };
}

/** Undefined instead of nothing. */
function some<T extends object>(fields: T): T | undefined {
  return Object.keys(fields).length > 0 ? fields : undefined;
}

function collect(text: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), text];
}

function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new InvalidArgumentError('Write a number from 1 to 65535.');
}

function parseCount(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Write a number from 1.');
}
